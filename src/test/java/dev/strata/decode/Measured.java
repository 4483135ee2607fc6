package dev.strata.decode;

import dev.strata.expert.DriveComparison;
import dev.strata.expert.ReadCounters;
import java.time.Duration;
import java.util.Locale;

/** Reads and times of several pieces of work, without what lies between them. */
final class Measured {
    private ReadCounters.Snapshot read = ReadCounters.Snapshot.NONE;
    private double processor;

    /** Does the work and returns what it read. */
    ReadCounters.Snapshot add(ReadCounters counters, Runnable work) {
        ReadCounters.Snapshot before = counters.snapshot();
        double processorBefore = processorSeconds();
        work.run();
        ReadCounters.Snapshot now = counters.snapshot().since(before);
        processor += processorSeconds() - processorBefore;
        read = read.plus(now);
        return now;
    }

    ReadCounters.Snapshot read() {
        return read;
    }

    double seconds() {
        return read.nanos() / 1e9;
    }

    /** What the process took of the processors; load of others does not show in it. */
    double processor() {
        return processor;
    }

    static double processorSeconds() {
        return ProcessHandle.current()
                        .info()
                        .totalCpuDuration()
                        .orElse(Duration.ZERO)
                        .toMillis()
                / 1e3;
    }

    /** The median share, what the drive gave, and how far the shares are apart. */
    static String text(DriveComparison comparison) {
        return String.format(
                Locale.ROOT,
                "%.0f %% of %.2f (%.0f to %.0f)",
                100 * comparison.share(),
                comparison.alone() / 1e9,
                100 * comparison.least(),
                100 * comparison.most());
    }
}
