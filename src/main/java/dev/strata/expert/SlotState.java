package dev.strata.expert;

/** Life of a cache slot. */
public enum SlotState {
    /** Holds nothing. */
    FREE,
    /** A blob is on its way into it. */
    LOADING,
    /** Holds its expert. */
    READY,
    /** Part of the tail that a prompt has borrowed. */
    LENT
}
