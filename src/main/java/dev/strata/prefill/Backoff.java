package dev.strata.prefill;

import java.util.concurrent.locks.LockSupport;

/** Waits a little longer every time: spins first, then sleeps. For one thread. */
final class Backoff {
    private static final int ENOUGH_PROCESSORS = 8;

    // With processors to spare some hundred microseconds: a stager's thread waits about 80 for its next buffer while
    // the link is full, and
    // a sleep of 20 takes 100.
    private static final int SPINS = Runtime.getRuntime().availableProcessors() >= ENOUGH_PROCESSORS ? 3000 : 200;
    private static final long SLEEP_NANOS = 20_000;
    private static final long LONGEST_NANOS = 60_000;
    // Reads of a drive take milliseconds, and every wake-up costs a virtual machine more than the look: with the
    // sleeps above the waiting threads of a stager took 40 % of the drive's rate.
    private static final long SLOW_SLEEP_NANOS = 250_000;
    private static final long SLOW_LONGEST_NANOS = 1_000_000;
    /** More threads than these wake up less often, or they would take the processors from those that work. */
    private static final int FEW_THREADS = 12;

    private final boolean sleeps;
    private final long first;
    private final long longest;
    private int rounds;
    private long sleep;

    /**
     * For one of {@code threads} that wait alike.
     *
     * @param sleeps false when it only spins ({@code STRATA_STAGER_SLEEP=0})
     * @param slow whether what it waits for comes from a drive
     */
    Backoff(boolean sleeps, int threads, boolean slow) {
        this.sleeps = sleeps;
        first = slow ? SLOW_SLEEP_NANOS : SLEEP_NANOS;
        long one = slow ? SLOW_LONGEST_NANOS : LONGEST_NANOS;
        longest = threads <= FEW_THREADS ? one : one * threads;
        sleep = first;
    }

    void pause() {
        if (!sleeps || rounds < SPINS) {
            rounds++;
            Thread.onSpinWait();
            return;
        }
        LockSupport.parkNanos(sleep);
        sleep = Math.min(longest, sleep * 2);
    }

    void reset() {
        rounds = 0;
        sleep = first;
    }
}
