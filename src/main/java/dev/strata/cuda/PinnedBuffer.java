package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;

/** Page-locked host memory. Kernels read it at the same address. */
final class PinnedBuffer implements Buffer {
    private final MemorySegment memory;
    private boolean closed;

    PinnedBuffer(long address, long bytes) {
        this.memory = MemorySegment.ofAddress(address).reinterpret(bytes);
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
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Driver.freePinned(memory.address());
        }
    }
}
