package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * A thread that waits for a number in mapped memory to become another one, which the card writes while a pass runs. It spins for {@value #SPIN_MILLIS} ms
 * after the last one, then looks now and then while a pass is under way, and sleeps otherwise. Numbers of passes that nobody announced do not keep it awake.
 */
final class NumberWatch implements AutoCloseable {
    static final int SPIN_MILLIS = 20;

    private static final long SPIN_NANOS = SPIN_MILLIS * 1_000_000L;
    private static final long GLANCE_NANOS = 100_000;
    private static final VarHandle WORD = JAVA_INT.varHandle();

    private final MemorySegment memory;
    private final long offset;
    private final IntConsumer heard;
    private final Thread thread;
    private volatile boolean open = true;
    private volatile long begun;
    private long passes;
    private volatile long settled;
    private volatile boolean asleep;

    /**
     * @param offset of the number, which is 0 at first
     * @param heard gets every number that is seen, on the thread
     */
    NumberWatch(String name, MemorySegment memory, long offset, IntConsumer heard) {
        this.memory = memory;
        this.offset = offset;
        this.heard = heard;
        thread = Thread.ofPlatform().name(name).daemon().unstarted(this::serve);
    }

    void start() {
        thread.start();
    }

    /** A pass that may change the number begins. */
    void begin() {
        begun = ++passes;
        if (asleep) {
            LockSupport.unpark(thread);
        }
    }

    /** All passes so far are over. */
    void settle() {
        settled = begun;
    }

    /** What the memory holds now. */
    int number() {
        return (int) WORD.getAcquire(memory, offset);
    }

    private void serve() {
        int last = 0;
        long idleSince = System.nanoTime();
        while (open) {
            int number = number();
            if (number != last) {
                last = number;
                heard.accept(number);
                if (settled < begun) {
                    idleSince = System.nanoTime();
                }
            } else if (System.nanoTime() - idleSince < SPIN_NANOS) {
                Thread.onSpinWait();
            } else if (settled < begun) {
                LockSupport.parkNanos(this, GLANCE_NANOS);
            } else {
                asleep = true;
                while (open && settled >= begun) {
                    LockSupport.park(this);
                }
                asleep = false;
                idleSince = System.nanoTime();
            }
        }
    }

    @Override
    public void close() {
        open = false;
        LockSupport.unpark(thread);
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException stillBusy) {
                // The memory that it reads goes away behind this.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
