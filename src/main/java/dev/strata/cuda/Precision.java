package dev.strata.cuda;

/** What products and attention compute in. */
public enum Precision {
    /** Few rows in float32; many rows on tensor cores with float16 operands. Sums are float32. */
    MIXED,
    /** Everything in float32, for checking against the reference. Slow for prompts. */
    F32
}
