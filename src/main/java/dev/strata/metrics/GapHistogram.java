package dev.strata.metrics;

import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import java.util.Arrays;

/**
 * Times between pieces of answers. What comes once a token is counted for each answer by itself and added up now and then, so that it costs no more than the
 * comparison with the bounds.
 */
public final class GapHistogram implements Collector {
    /** Upper bounds of the buckets, in seconds. */
    private static final double[] SECONDS = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, Double.POSITIVE_INFINITY};

    private static final long[] NANOS =
            Arrays.stream(SECONDS).mapToLong(bound -> (long) (bound * 1e9)).toArray();
    /** So many gaps of an answer are counted before they are added. */
    private static final int KEPT = 64;

    private final String name;
    private final String help;
    private final long[] counts = new long[NANOS.length];
    private long nanos;

    GapHistogram(String name, String help) {
        this.name = name;
        this.help = help;
    }

    /** Gaps of one answer. Where its client leaves, the thread that gives it up publishes them, maybe beside the one that counts. */
    public final class Answer {
        private final int[] kept = new int[NANOS.length];
        private long keptNanos;
        private int waiting;

        /** @param gap nanoseconds between two pieces */
        public synchronized void add(long gap) {
            int bucket = 0;
            while (gap > NANOS[bucket]) {
                bucket++;
            }
            kept[bucket]++;
            keptNanos += gap;
            if (++waiting == KEPT) {
                publish();
            }
        }

        /** Adds what was counted to the gaps of all answers. */
        public synchronized void publish() {
            publishAll(kept, keptNanos);
            Arrays.fill(kept, 0);
            keptNanos = 0;
            waiting = 0;
        }
    }

    private synchronized void publishAll(int[] kept, long keptNanos) {
        for (int i = 0; i < counts.length; i++) {
            counts[i] += kept[i];
        }
        nanos += keptNanos;
    }

    @Override
    public synchronized HistogramSnapshot collect() {
        return HistogramSnapshot.builder()
                .name(name)
                .help(help)
                .dataPoint(HistogramSnapshot.HistogramDataPointSnapshot.builder()
                        .classicHistogramBuckets(ClassicHistogramBuckets.of(SECONDS, counts))
                        .sum(nanos / 1e9)
                        .build())
                .build();
    }
}
