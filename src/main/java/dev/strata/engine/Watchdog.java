package dev.strata.engine;

import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Declares the engine dead when one pass takes too long without reading from a drive, and writes down what every thread was doing. A
 * slow drive is not a hang.
 */
final class Watchdog implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Watchdog.class);

    private final StepLoop loop;
    private final long limitNanos;
    private final LongSupplier activity;
    private final Runnable onStuck;
    private final Thread thread;
    private volatile boolean closed;
    private long lastActivity = -1;
    private long lastProgress;

    /**
     * @param limitNanos how long a pass may take; 0: for ever
     * @param activity grows while the process reads from drives
     */
    Watchdog(StepLoop loop, long limitNanos, LongSupplier activity, Runnable onStuck) {
        this.loop = loop;
        this.limitNanos = limitNanos;
        this.activity = activity;
        this.onStuck = onStuck;
        thread = Thread.ofPlatform().name("strata-watchdog").daemon().unstarted(this::run);
    }

    void start() {
        if (limitNanos > 0) {
            thread.start();
        }
    }

    private void run() {
        while (!closed) {
            try {
                Thread.sleep(Math.max(1, Math.min(1000, limitNanos / 4_000_000)));
            } catch (InterruptedException e) {
                return;
            }
            if (stuck(System.nanoTime())) {
                LOG.error(
                        "a pass has taken more than {} s: the engine is stuck\n{}", limitNanos / 1_000_000_000, dump());
                onStuck.run();
                return;
            }
        }
    }

    boolean stuck(long now) {
        return stuck(loop.passStarted(), now);
    }

    /** Asked again and again: whether the pass that began at {@code started} (0: none) has neither ended nor read anything for too long. */
    boolean stuck(long started, long now) {
        if (started == 0) {
            return false;
        }
        long figure = activity.getAsLong();
        if (figure != lastActivity) {
            lastActivity = figure;
            lastProgress = now;
        }
        return now - started > limitNanos && now - lastProgress > limitNanos;
    }

    private static String dump() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<Thread, StackTraceElement[]> each :
                Thread.getAllStackTraces().entrySet()) {
            text.append(each.getKey()).append('\n');
            for (StackTraceElement element : each.getValue()) {
                text.append("    at ").append(element).append('\n');
            }
        }
        return text.toString();
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
