package dev.strata.config;

/** What a card computes in. */
public enum PrecisionChoice {
    /** Products of many rows and attention with float16 operands and float32 sums. */
    DEFAULT,
    /** Everything in float32: slow, for checking. */
    F32
}
