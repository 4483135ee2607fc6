package dev.strata.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A mapping of host memory that we own. Closing it gives the memory back and makes every segment of it invalid; whoever handed its
 * raw address to a device or to native code keeps it open until that work is done.
 */
public final class HostPages implements AutoCloseable {
    /** Alignment of mappings where native calls work, and the size of a huge page. */
    public static final long HUGE_PAGE = 2L << 20;

    /** Size of a small page on every system we run on. */
    public static final int SMALL_PAGE = 4096;

    private final Arena arena;
    private final MemorySegment memory;
    private final PageKind kind;

    HostPages(Arena arena, MemorySegment memory, PageKind kind) {
        this.arena = arena;
        this.memory = memory;
        this.kind = kind;
    }

    /** {@link OperatingSystem#map} of the current system. */
    public static HostPages allocate(long bytes, String purpose) {
        return OperatingSystem.current().map(bytes, purpose);
    }

    /** Exactly the requested bytes. */
    public MemorySegment memory() {
        return memory;
    }

    public long bytes() {
        return memory.byteSize();
    }

    public long address() {
        return memory.address();
    }

    public PageKind kind() {
        return kind;
    }

    /** {@link OperatingSystem#lock} of the whole mapping. */
    public Outcome lock() {
        return OperatingSystem.current().lock(memory);
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
