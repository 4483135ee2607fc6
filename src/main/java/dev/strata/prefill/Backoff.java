package dev.strata.prefill;

import java.util.concurrent.locks.LockSupport;

/** Waits a little longer every time: spins first, then sleeps. For one thread. */
final class Backoff {
    private static final int SPINS = 200;
    private static final long SLEEP_NANOS = 20_000;
    private static final long LONGEST_NANOS = 60_000;

    private final boolean sleeps;
    private int rounds;
    private long sleep = SLEEP_NANOS;

    /** With {@code sleeps} false it only spins ({@code STRATA_STAGER_SLEEP=0}). */
    Backoff(boolean sleeps) {
        this.sleeps = sleeps;
    }

    void pause() {
        if (!sleeps || rounds < SPINS) {
            rounds++;
            Thread.onSpinWait();
            return;
        }
        LockSupport.parkNanos(sleep);
        sleep = Math.min(LONGEST_NANOS, sleep * 2);
    }

    void reset() {
        rounds = 0;
        sleep = SLEEP_NANOS;
    }
}
