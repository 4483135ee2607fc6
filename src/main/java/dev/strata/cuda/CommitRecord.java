package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;

/** One segment as kernels see it while a held window is replayed: first row 0, the accepted rows, the slot. */
final class CommitRecord implements AutoCloseable {
    private final Buffer buffer;
    private final Staging staging;

    CommitRecord(CudaDevice device, Staging staging) {
        this.buffer = device.allocate(16, "accepted rows");
        this.staging = staging;
    }

    void load(int slot, int accepted) {
        MemorySegment piece = staging.claim();
        piece.setAtIndex(JAVA_INT, 0, 0);
        piece.setAtIndex(JAVA_INT, 1, accepted);
        piece.setAtIndex(JAVA_INT, 2, slot);
        staging.send(12, buffer.address());
    }

    long firstRows() {
        return buffer.address();
    }

    long counts() {
        return buffer.address() + 4;
    }

    long slots() {
        return buffer.address() + 8;
    }

    @Override
    public void close() {
        buffer.close();
    }
}
