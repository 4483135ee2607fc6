package dev.strata.config;

/** Which backend to run on. */
public enum BackendChoice {
    /** The fastest that is there: a card, else the C++ kernels, else plain Java. */
    AUTO,
    CPU,
    CUDA,
    REFERENCE
}
