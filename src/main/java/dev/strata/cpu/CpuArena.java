package dev.strata.cpu;

import dev.strata.device.HostBuffer;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory for what lives as long as the backend: small pieces share slabs of huge pages, large ones get pages of their own. Pieces are
 * zeroed, aligned to cache lines and given back all at once.
 */
final class CpuArena implements AutoCloseable {
    private static final long SLAB = 32L << 20;
    private static final long ALIGNMENT = 64;

    private final List<HostBuffer> slabs = new ArrayList<>();
    private HostBuffer current = HostBuffer.of(MemorySegment.NULL);
    private long used;

    HostBuffer allocate(long bytes, String purpose) {
        if (bytes > SLAB / 4) {
            HostBuffer own = HugePages.allocate(bytes, purpose);
            slabs.add(own);
            return own;
        }
        if (used + bytes > current.bytes()) {
            current = HugePages.allocate(SLAB, purpose);
            slabs.add(current);
            used = 0;
        }
        HostBuffer piece = HostBuffer.of(current.host().asSlice(used, bytes));
        used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return piece;
    }

    @Override
    public void close() {
        slabs.forEach(HostBuffer::close);
        slabs.clear();
        current = HostBuffer.of(MemorySegment.NULL);
        used = 0;
    }
}
