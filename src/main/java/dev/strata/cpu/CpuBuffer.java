package dev.strata.cpu;

import dev.strata.device.Buffer;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Host memory: pages of its own, returned when closed, or a part of memory that belongs to somebody else. */
final class CpuBuffer implements Buffer {
    private final MemorySegment memory;
    private final long address;
    private final @Nullable HostPages pages;

    private CpuBuffer(MemorySegment memory, @Nullable HostPages pages) {
        this.memory = memory;
        this.address = memory.address();
        this.pages = pages;
    }

    /** Zeroed memory of its own, in huge pages where they can be had. */
    static CpuBuffer allocate(long bytes, String purpose) {
        HostPages pages = HostPages.allocate(Math.max(bytes, 1), purpose);
        return new CpuBuffer(pages.memory(), pages);
    }

    /** A view of memory that stays its owner's. */
    static CpuBuffer of(MemorySegment memory) {
        return new CpuBuffer(memory, null);
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
    public void close() {
        if (pages != null) {
            pages.close();
        }
    }
}
