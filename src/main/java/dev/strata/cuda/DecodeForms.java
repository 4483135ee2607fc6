package dev.strata.cuda;

/**
 * Decides which form the passes of few rows have: kernels that do several operations each, which were measured to be the faster ones
 * (docs/kernels.md), unless another form is asked for or needed.
 */
final class DecodeForms {
    private final CudaOptions options;

    DecodeForms(CudaOptions options) {
        this.options = options;
    }

    /** Whether passes use kernels that do several operations at once. */
    boolean fused() {
        return options.precision() == Precision.MIXED
                && !options.deterministic()
                && options.form() != DecodeForm.SEPARATE;
    }

    /** Whether a pass of so many rows does. */
    boolean fused(int rows) {
        return fused() && rows > 0 && rows <= DecodeShapes.MOST_ROWS;
    }
}
