package dev.strata.prefill;

import dev.strata.device.Device;
import dev.strata.os.OperatingSystem;
import dev.strata.os.Outcome;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Platform threads that step machines while a stream runs and are parked otherwise. */
final class StreamThreads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamThreads.class);

    private final List<Thread> threads = new ArrayList<>();
    private final Device device;
    private final boolean slow;
    private volatile boolean active;
    private final AtomicInteger wakes = new AtomicInteger();
    private volatile boolean closed;

    /** @param slow whether the streams come from a drive */
    StreamThreads(Device device, boolean slow) {
        this.device = device;
        this.slow = slow;
    }

    /**
     * Starts a thread and returns it.
     *
     * @param step does one thing, false when it has to wait
     * @param settled whether the machine may rest when no stream runs
     * @param cpus where to run, empty for anywhere
     * @param sleeps whether it sleeps while it waits inside a stream, after some spinning
     * @param alike threads that do the same, itself among them
     */
    Thread start(String name, BooleanSupplier step, BooleanSupplier settled, BitSet cpus, boolean sleeps, int alike) {
        Backoff backoff = new Backoff(sleeps, alike, slow);
        Thread thread = Thread.ofPlatform().daemon().name(name).start(() -> run(name, step, settled, cpus, backoff));
        threads.add(thread);
        return thread;
    }

    private void run(String name, BooleanSupplier step, BooleanSupplier settled, BitSet cpus, Backoff backoff) {
        device.attachThread();
        if (!cpus.isEmpty()) {
            Outcome bound = OperatingSystem.current().bindThread(cpus);
            if (!bound.done()) {
                LOG.debug("{}: {}", name, bound.reason());
            }
        }
        int seen = wakes.get();
        while (!closed) {
            if (step.getAsBoolean()) {
                backoff.reset();
            } else if (seen != wakes.get()) {
                // Woken up for work that may come in a moment: one that has slept for long would sleep as long again.
                seen = wakes.get();
                backoff.reset();
            } else if (!active && settled.getAsBoolean()) {
                LockSupport.park(this);
                backoff.reset();
            } else {
                backoff.pause();
            }
        }
    }

    /** For a thread that waits for these. */
    Backoff backoff() {
        return new Backoff(true, 1, slow);
    }

    /** Wakes all threads up. */
    void wake() {
        active = true;
        wakes.incrementAndGet();
        threads.forEach(LockSupport::unpark);
    }

    /** Lets them rest. */
    void rest() {
        active = false;
    }

    /**
     * The CPU of each of {@code count} copy threads, the last ones first so that the engine's are left alone; anywhere when there are too few
     * to give each its own.
     */
    static List<BitSet> cpus(int count) {
        BitSet allowed = OperatingSystem.current().affinity();
        boolean enough = allowed.cardinality() >= count + 4;
        List<BitSet> chosen = new ArrayList<>();
        int cpu = allowed.length();
        for (int i = 0; i < count; i++) {
            BitSet one = new BitSet();
            if (enough) {
                cpu = allowed.previousSetBit(cpu - 1);
                one.set(cpu);
            }
            chosen.add(one);
        }
        return chosen;
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(LockSupport::unpark);
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (true) {
                try {
                    thread.join();
                    break;
                } catch (InterruptedException stop) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
