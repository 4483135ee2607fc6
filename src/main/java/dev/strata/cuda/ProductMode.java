package dev.strata.cuda;

/** What a product does with its sums; the numbers are those of the kernels. */
enum ProductMode {
    STORE(0),
    ADD(1),
    SILU(2),
    TWICE_SIGMOID(3),
    /** Adds, times a factor a row. */
    ADD_SCALED(4),
    STORE_F16(5),
    /** A part of silu(even octets) * odd octets of the outputs, as float16: see {@link Products#GATED_PART}. */
    SWIGLU_F16(6),
    /** Adds to every residual stream, times a factor a row and stream. Of decode.cu alone. */
    INJECT(10);

    private final int code;

    ProductMode(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
