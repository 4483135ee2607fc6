package dev.strata.cpu;

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

    private final List<CpuBuffer> slabs = new ArrayList<>();
    private CpuBuffer current = CpuBuffer.of(MemorySegment.NULL);
    private long used;

    CpuBuffer allocate(long bytes, String purpose) {
        if (bytes > SLAB / 4) {
            CpuBuffer own = CpuBuffer.allocate(bytes, purpose);
            slabs.add(own);
            return own;
        }
        if (used + bytes > current.bytes()) {
            current = CpuBuffer.allocate(SLAB, purpose);
            slabs.add(current);
            used = 0;
        }
        CpuBuffer piece = CpuBuffer.of(current.host().asSlice(used, bytes));
        used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return piece;
    }

    @Override
    public void close() {
        slabs.forEach(CpuBuffer::close);
        slabs.clear();
        current = CpuBuffer.of(MemorySegment.NULL);
        used = 0;
    }
}
