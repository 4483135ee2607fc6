package dev.strata.prefill;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Which staging jobs are open and who takes them: one 64-bit word with a generation, the next job and the limit, changed by
 * compare-and-set only. A restart drops what nobody has taken and starts a new generation, so a thread that comes late from the last
 * one finds nothing of the new one under its old claim. Jobs are numbered modulo {@link #cycle}.
 */
final class StageClaims {
    /** No job was open. */
    static final long NONE = -1;

    private static final int BITS = 21;
    private static final int MASK = (1 << BITS) - 1;
    private static final int GENERATION_MASK = (1 << 20) - 1;

    private final AtomicLong word = new AtomicLong();
    private final int cycle;

    /** Job numbers run modulo the largest multiple of {@code unit} that fits. */
    StageClaims(int unit) {
        cycle = MASK / unit * unit;
    }

    int cycle() {
        return cycle;
    }

    int generation() {
        return generation(word.get());
    }

    /** Opens {@code jobs} more; one thread calls it. */
    void publish(int jobs) {
        while (true) {
            long now = word.get();
            long opened = pack(generation(now), next(now), (limit(now) + jobs) % cycle);
            if (word.compareAndSet(now, opened)) {
                return;
            }
        }
    }

    /** Takes up to {@code most} neighbouring jobs: a claim with generation, first job and count, or {@link #NONE}. */
    long claim(int most) {
        while (true) {
            long now = word.get();
            int open = Math.floorMod(limit(now) - next(now), cycle);
            if (open == 0) {
                return NONE;
            }
            int count = Math.min(most, open);
            long taken = pack(generation(now), (next(now) + count) % cycle, limit(now));
            if (word.compareAndSet(now, taken)) {
                return pack(generation(now), next(now), count);
            }
        }
    }

    /** Starts the next generation and returns how many jobs nobody had taken. */
    int restart() {
        while (true) {
            long now = word.get();
            int dropped = Math.floorMod(limit(now) - next(now), cycle);
            long fresh = pack(generation(now) + 1 & GENERATION_MASK, limit(now), limit(now));
            if (word.compareAndSet(now, fresh)) {
                return dropped;
            }
        }
    }

    /** Generation of a claim. */
    static int generation(long packed) {
        return (int) (packed >>> 2 * BITS) & GENERATION_MASK;
    }

    /** First job of a claim. */
    static int first(long claim) {
        return next(claim);
    }

    /** Jobs of a claim. */
    static int count(long claim) {
        return limit(claim);
    }

    private static int next(long packed) {
        return (int) (packed >>> BITS) & MASK;
    }

    private static int limit(long packed) {
        return (int) packed & MASK;
    }

    private static long pack(int generation, int next, int limit) {
        return (long) generation << 2 * BITS | (long) next << BITS | limit;
    }
}
