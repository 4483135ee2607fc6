package dev.strata.cuda;

/** Which products of tiles prompts use. */
public enum TensorCores {
    /** Those of warp groups where the card has them, else those of warps. */
    AUTO,
    /** mma.sync: every card. */
    WARP,
    /** wgmma with tiles copied by the tensor unit: compute capability 9.0. */
    GROUP
}
