package dev.strata.device;

import org.jspecify.annotations.Nullable;

/**
 * A gated residual (hyper-connection) module over {@code streams} residual streams.
 *
 * @param norm [1, streams * hidden], ready to multiply
 * @param down [lowRank, streams * hidden]
 * @param up [streams * hidden, lowRank]
 * @param inject [streams, streams * hidden], absent in the final module
 */
public record HyperWeights(
        int streams,
        Tensor norm,
        Weight down,
        Weight up,
        @Nullable Weight inject,
        float epsilon) {}
