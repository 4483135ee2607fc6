package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.strata.device.Device;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Registers the ranges of a plan on a thread of its own while an arena is filled: each layer before its readers write to it, and at most one
 * layer ahead of them. So when the last blob has been read, nothing is left to register, and a system that refuses does so before much was read.
 *
 * <p>Registering memory that nobody has written to makes the kernel find and clear its pages on one thread; many threads touch them before,
 * which readers would have to do anyway.
 */
public final class PinAhead implements LayerGate {
    /** Bytes that one task touches. */
    private static final long TOUCHED = 16L << 20;

    private final ExpertArena arena;
    private final PinPlan plan;
    private final PinSetting setting;
    private final BiPredicate<Integer, Integer> resident;
    private final ArenaPinner pinner;
    private final Thread thread;
    private int entered = -1;
    private int next;
    private boolean full;
    private boolean abandoned;
    private boolean stopped;
    private @Nullable RuntimeException failure;

    private PinAhead(
            Device device,
            ExpertArena arena,
            PinPlan plan,
            PinSetting setting,
            BiPredicate<Integer, Integer> resident) {
        this.arena = arena;
        this.plan = plan;
        this.setting = setting;
        this.resident = resident;
        pinner = new ArenaPinner(device, arena);
        thread = Thread.ofPlatform().daemon().name("arena-pinner").unstarted(this::run);
    }

    /** Starts with the first layer; what it takes is described at {@link ArenaPinner#pin}. */
    public static PinAhead start(
            Device device,
            ExpertArena arena,
            PinPlan plan,
            PinSetting setting,
            BiPredicate<Integer, Integer> resident) {
        PinAhead ahead = new PinAhead(device, arena, plan, setting, resident);
        ahead.thread.start();
        return ahead;
    }

    private void run() {
        try {
            for (PinPlan.Range range : plan.ranges()) {
                if (!awaitReaders(range.layer())) {
                    return;
                }
                touch(arena.memory().asSlice(range.offset(), range.bytes()));
                if (!pinner.register(range)) {
                    return;
                }
            }
        } catch (RuntimeException failed) {
            failure = failed;
        } finally {
            stop();
        }
    }

    private synchronized void stop() {
        stopped = true;
        done(Integer.MAX_VALUE);
    }

    /** Waits until readers are at the layer before; false when the load was given up. */
    private synchronized boolean awaitReaders(int layer) {
        done(layer);
        awaitUntil(() -> full || abandoned || entered >= layer - 1);
        return !abandoned;
    }

    /** All layers before {@code layer} are as they will be. */
    private synchronized void done(int layer) {
        next = layer;
        notifyAll();
    }

    private static void touch(MemorySegment memory) {
        LongStream.range(0, Math.ceilDiv(memory.byteSize(), TOUCHED)).parallel().forEach(part -> {
            long end = Math.min(memory.byteSize(), (part + 1) * TOUCHED);
            for (long at = part * TOUCHED; at < end; at += HostPages.SMALL_PAGE) {
                memory.set(JAVA_BYTE, at, (byte) 0);
            }
        });
    }

    @Override
    public synchronized void enter(int layer) {
        if (layer > entered) {
            entered = layer;
            notifyAll();
        }
        awaitUntil(() -> next > layer || abandoned);
    }

    /** Waits under the monitor. An interrupt is kept for later: neither side may leave the other alone. */
    private synchronized void awaitUntil(BooleanSupplier come) {
        boolean interrupted = false;
        while (!come.getAsBoolean()) {
            try {
                wait();
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void giveUp() {
        synchronized (this) {
            abandoned = true;
            notifyAll();
        }
        awaitThread();
        pinner.giveUp();
    }

    /**
     * The arena is full: registers the rest of the plan and logs what came of it.
     *
     * @throws dev.strata.device.DeviceException when registering failed in another way than by being refused
     */
    public PinnedRanges finish() {
        synchronized (this) {
            full = true;
            notifyAll();
        }
        awaitThread();
        RuntimeException failed = failure;
        if (failed != null) {
            throw failed;
        }
        return pinner.finish(plan, setting, resident);
    }

    private synchronized void awaitThread() {
        awaitUntil(() -> stopped);
    }
}
