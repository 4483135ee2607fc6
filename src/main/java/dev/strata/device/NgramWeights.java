package dev.strata.device;

/**
 * The n-gram layer's parameters. Norms are ready to multiply and run over groups of {@code hidden}.
 *
 * @param key [streams * hidden, embedding]
 * @param value [hidden, embedding]
 * @param convolution [streams * hidden, kernel], taps {@code dilation} tokens apart
 */
public record NgramWeights(
        int streams,
        Weight key,
        Weight value,
        Tensor normKey,
        Tensor normQuery,
        Tensor normConvolution,
        Tensor convolution,
        int kernel,
        int dilation,
        float epsilon) {
    /** Rows of convolution state: the past values that the taps reach. */
    public int stateRows() {
        return (kernel - 1) * dilation;
    }
}
