package dev.strata.device;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Host memory: either its own, returned when closed, or somebody else's that it only points to. */
public final class HostBuffer implements Buffer {
    private static final long ALIGNMENT = 64;

    private final MemorySegment memory;
    private final long address;
    private @Nullable Runnable release;

    private HostBuffer(MemorySegment memory, @Nullable Runnable release) {
        this.memory = memory;
        this.address = memory.address();
        this.release = release;
    }

    /** Zeroed memory of its own, aligned to cache lines. */
    @SuppressWarnings("MustBeClosedChecker") // owned by the buffer, closed with it
    public static HostBuffer allocate(long bytes) {
        Arena arena = Arena.ofShared();
        return owning(arena.allocate(Math.max(bytes, ALIGNMENT), ALIGNMENT), arena::close);
    }

    /** Memory that {@code release} gives back, at the first close. */
    public static HostBuffer owning(MemorySegment memory, Runnable release) {
        return new HostBuffer(memory, release);
    }

    /** A view of memory that stays its owner's. */
    public static HostBuffer of(MemorySegment memory) {
        return new HostBuffer(memory, null);
    }

    @Override
    public long bytes() {
        return memory.byteSize();
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public MemorySegment host() {
        return memory;
    }

    @Override
    public boolean hostVisible() {
        return true;
    }

    @Override
    public synchronized void close() {
        Runnable once = release;
        release = null;
        if (once != null) {
            once.run();
        }
    }
}
