package dev.strata.decode;

import dev.strata.expert.ExpertUsage;
import java.util.Locale;

/**
 * What decode steps have used of the expert cache so far; without a card, of the experts in RAM.
 *
 * @param lookups experts that rows chose
 * @param hits of these, experts with a slot (or in RAM)
 * @param hitBytes their blobs
 * @param missBytes blobs of the others, counted for every row
 * @param missedOnce blobs of the others, counted once a step
 * @param processorBytes of these, what the processor read
 * @param driveBytes of these, what was in no RAM and came from the files
 * @param swaps experts exchanged in the cache
 * @param readBytes read from files, by prompts too
 * @param waitedNanos time that the processor waited for these reads
 */
public record ExpertTotals(
        long lookups,
        long hits,
        long hitBytes,
        long missBytes,
        long missedOnce,
        long processorBytes,
        long driveBytes,
        long swaps,
        long readBytes,
        long waitedNanos) {
    public static final ExpertTotals NONE = new ExpertTotals(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    /** What steps have counted; nothing was read from files. */
    public static ExpertTotals of(ExpertUsage usage, long processorBytes, long driveBytes, long swaps) {
        return new ExpertTotals(
                usage.lookups(),
                usage.hits(),
                usage.hitBytes(),
                usage.missBytes(),
                usage.missedOnce(),
                processorBytes,
                driveBytes,
                swaps,
                0,
                0);
    }

    /** The same with what was read from files. */
    public ExpertTotals withReads(long bytes, long waited) {
        return new ExpertTotals(
                lookups, hits, hitBytes, missBytes, missedOnce, processorBytes, driveBytes, swaps, bytes, waited);
    }

    /** Whether there is anything to tell. */
    public boolean any() {
        return lookups > 0 || readBytes > 0;
    }

    /** What came after {@code earlier}. */
    public ExpertTotals since(ExpertTotals earlier) {
        return new ExpertTotals(
                lookups - earlier.lookups,
                hits - earlier.hits,
                hitBytes - earlier.hitBytes,
                missBytes - earlier.missBytes,
                missedOnce - earlier.missedOnce,
                processorBytes - earlier.processorBytes,
                driveBytes - earlier.driveBytes,
                swaps - earlier.swaps,
                readBytes - earlier.readBytes,
                waitedNanos - earlier.waitedNanos);
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

    /** Missed bytes that crossed the link straight from RAM. */
    public long linkBytes() {
        return Math.max(0, missedOnce - processorBytes - driveBytes);
    }

    /**
     * Such as {@code experts 83.1 % hits (82.9 % of bytes), missed 120.0 MB by processor + 80.5 MB by link, 12 swaps}; what came from a drive
     * is named when there was any, and what all passes read from files.
     */
    public String line() {
        return String.format(
                Locale.ROOT,
                "experts %.1f %% hits (%.1f %% of bytes), missed %.1f MB by processor + %.1f MB by link%s, %d swaps%s",
                100 * hitRate(),
                100 * hitRateByBytes(),
                processorBytes / 1e6,
                linkBytes() / 1e6,
                driveBytes == 0 ? "" : String.format(Locale.ROOT, " + %.1f MB from the drive", driveBytes / 1e6),
                swaps,
                readBytes == 0
                        ? ""
                        : String.format(
                                Locale.ROOT, ", read %.2f GB, waited %.1f s", readBytes / 1e9, waitedNanos / 1e9));
    }
}
