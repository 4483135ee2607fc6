package dev.strata.model;

/**
 * How the draft layer norms the trunk's residual streams before it fuses them. Implementations of the same checkpoints disagree; the
 * choice only changes how many drafts are accepted.
 */
public enum HiddenNorm {
    /** One RMS over all streams. */
    WHOLE,
    /** One RMS a stream. */
    PER_STREAM
}
