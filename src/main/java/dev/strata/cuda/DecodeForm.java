package dev.strata.cuda;

/** How a pass of few rows reaches the card. */
public enum DecodeForm {
    /** The one that was measured to be the fastest for the model and the placement of its experts. */
    AUTO,
    /** A kernel for every operation. */
    SEPARATE,
    /** Kernels that do several operations each. */
    FUSED
}
