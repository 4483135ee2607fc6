package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;

/** Memory of the card. */
final class CudaBuffer implements Buffer {
    private final CudaDevice device;
    private final long address;
    private final long bytes;
    private boolean closed;

    CudaBuffer(CudaDevice device, long address, long bytes) {
        this.device = device;
        this.address = address;
        this.bytes = bytes;
    }

    @Override
    public long bytes() {
        return bytes;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public MemorySegment host() {
        throw new UnsupportedOperationException("memory of " + device.name() + " cannot be addressed by the host");
    }

    @Override
    public boolean hostVisible() {
        return false;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            device.attach();
            Driver.free(address);
            device.freed(bytes);
        }
    }
}
