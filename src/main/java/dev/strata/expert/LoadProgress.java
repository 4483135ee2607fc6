package dev.strata.expert;

/** Hears how far a load is; calls come from any thread. */
@FunctionalInterface
public interface LoadProgress {
    /** Ignores everything. */
    LoadProgress NONE = (done, total, seconds) -> {};

    /**
     * Some bytes more were read.
     *
     * @param done bytes so far, of {@code total}
     * @param seconds since the start
     */
    void advance(long done, long total, double seconds);
}
