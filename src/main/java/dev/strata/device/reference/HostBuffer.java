package dev.strata.device.reference;

import dev.strata.device.Buffer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Host memory: either its own, returned when closed, or somebody else's that it only points to. */
final class HostBuffer implements Buffer {
    private static final long ALIGNMENT = 64;

    private final MemorySegment memory;
    private final @Nullable Arena arena;

    private HostBuffer(MemorySegment memory, @Nullable Arena arena) {
        this.memory = memory;
        this.arena = arena;
    }

    /** Zeroed memory of its own. */
    @SuppressWarnings("MustBeClosedChecker") // owned by the buffer, closed with it
    static HostBuffer allocate(long bytes) {
        Arena arena = Arena.ofShared();
        return new HostBuffer(arena.allocate(Math.max(bytes, ALIGNMENT), ALIGNMENT), arena);
    }

    /** A view of memory that stays its owner's. */
    static HostBuffer of(MemorySegment memory) {
        return new HostBuffer(memory, null);
    }

    @Override
    public long bytes() {
        return memory.byteSize();
    }

    @Override
    public long address() {
        return memory.address();
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
    public void close() {
        if (arena != null && arena.scope().isAlive()) {
            arena.close();
        }
    }
}
