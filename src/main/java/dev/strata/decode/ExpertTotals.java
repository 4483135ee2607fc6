package dev.strata.decode;

import java.util.Locale;

/**
 * What decode steps have used of the expert cache so far.
 *
 * @param lookups experts that rows chose
 * @param hits of these, experts with a slot
 * @param hitBytes their blobs
 * @param missBytes blobs of the others, counted for every row
 * @param missedOnce blobs of the others, counted once a step
 * @param processorBytes of these, what the processor read
 * @param swaps experts exchanged in the cache
 */
public record ExpertTotals(
        long lookups, long hits, long hitBytes, long missBytes, long missedOnce, long processorBytes, long swaps) {
    public static final ExpertTotals NONE = new ExpertTotals(0, 0, 0, 0, 0, 0, 0);

    /** What came after {@code earlier}. */
    public ExpertTotals since(ExpertTotals earlier) {
        return new ExpertTotals(
                lookups - earlier.lookups,
                hits - earlier.hits,
                hitBytes - earlier.hitBytes,
                missBytes - earlier.missBytes,
                missedOnce - earlier.missedOnce,
                processorBytes - earlier.processorBytes,
                swaps - earlier.swaps);
    }

    /** Share of lookups that were hits, 1 without lookups. */
    public double hitRate() {
        return lookups == 0 ? 1 : hits / (double) lookups;
    }

    /** The same by bytes. */
    public double hitRateByBytes() {
        long bytes = hitBytes + missBytes;
        return bytes == 0 ? 1 : hitBytes / (double) bytes;
    }

    /** Missed bytes that crossed the link. */
    public long linkBytes() {
        return Math.max(0, missedOnce - processorBytes);
    }

    /** Such as {@code experts 83.1 % hits (82.9 % of bytes), missed 120.0 MB by processor + 80.5 MB by link, 12 swaps}. */
    public String line() {
        return String.format(
                Locale.ROOT,
                "experts %.1f %% hits (%.1f %% of bytes), missed %.1f MB by processor + %.1f MB by link, %d swaps",
                100 * hitRate(),
                100 * hitRateByBytes(),
                processorBytes / 1e6,
                linkBytes() / 1e6,
                swaps);
    }
}
