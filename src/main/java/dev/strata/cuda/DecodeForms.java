package dev.strata.cuda;

/**
 * Decides which form the passes of few rows have. Measured on an H200: a model of plain attention layers with all experts on the card is faster in
 * separate kernels (docs/benchmarks.md); models with recurrent layers or several residual streams, and layers with missing experts, use fused ones.
 */
final class DecodeForms {
    private final CudaOptions options;
    private boolean recurrent;
    private boolean missing;

    DecodeForms(CudaOptions options) {
        this.options = options;
    }

    /** The model has layers with a recurrent state. */
    void recurrentLayers() {
        recurrent = true;
    }

    /** Whether passes from now on may miss experts. */
    void missingExperts(boolean value) {
        missing = value;
    }

    /** Whether passes use kernels that do several operations at once. */
    boolean fused() {
        return options.precision() == Precision.MIXED
                && !options.deterministic()
                && switch (options.form()) {
                    case AUTO -> recurrent || missing;
                    case SEPARATE -> false;
                    case FUSED -> true;
                };
    }
}
