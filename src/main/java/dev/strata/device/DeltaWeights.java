package dev.strata.device;

/**
 * Small parameters of a gated DeltaNet layer.
 *
 * @param convolution [channels, kernel]
 * @param decay [1, valueHeads]: -exp(A_log)
 * @param timeBias [1, valueHeads]
 * @param norm [1, valueSize], used as it is
 */
public record DeltaWeights(Tensor convolution, Tensor decay, Tensor timeBias, Tensor norm) {}
