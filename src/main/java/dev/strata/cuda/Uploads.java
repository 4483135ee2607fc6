package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Brings the large input of a pass to the card beside the pass before it, on a stream of its own: as soon as that pass has read its own
 * input from the same memory. One thread uses it.
 */
final class Uploads implements AutoCloseable {
    private static final int PIECES = 4;
    private static final long PIECE_BYTES = 4L << 20;

    private final CudaDevice device;
    private final CudaStream compute;
    private final Buffer[] pieces = new Buffer[PIECES];
    private final CudaEvent[] copied = new CudaEvent[PIECES];
    private @Nullable CudaStream stream;
    private @Nullable CudaEvent consumed;
    private @Nullable CudaEvent arrived;
    private long lastTarget;
    private boolean read;
    private int next;

    Uploads(CudaDevice device, CudaStream compute) {
        this.device = device;
        this.compute = compute;
    }

    /** Copies {@code source}, which may change when this returns; what is queued on the stream of passes from now on finds it. */
    void write(MemorySegment source, long target) {
        CudaStream own = open(target);
        own.waitFor(java.util.Objects.requireNonNull(consumed));
        for (long done = 0; done < source.byteSize(); done += PIECE_BYTES) {
            long bytes = Math.min(PIECE_BYTES, source.byteSize() - done);
            copied[next].synchronize();
            MemorySegment.copy(source, done, pieces[next].host(), 0, bytes);
            Driver.copyToDevice(target + done, pieces[next].host().asSlice(0, bytes), own.handle());
            copied[next].record(own);
            next = (next + 1) % PIECES;
        }
        CudaEvent there = java.util.Objects.requireNonNull(arrived);
        there.record(own);
        compute.waitFor(there);
        read = false;
    }

    /** The memory at {@code target} may be written behind what is queued on the stream of passes so far, if not earlier. */
    CudaStream open(long target) {
        CudaStream own = open();
        if (target != lastTarget || !read) {
            java.util.Objects.requireNonNull(consumed).record(compute);
            lastTarget = target;
            read = true;
        }
        return own;
    }

    /** What was brought to {@code target} has been read by what is queued so far. */
    void consumed(long target) {
        if (target == lastTarget && consumed != null) {
            consumed.record(compute);
            read = true;
        }
    }

    /** The memory gets other uses before the next call of {@link #write}. */
    void forget() {
        lastTarget = 0;
    }

    private CudaStream open() {
        CudaStream own = stream;
        if (own == null) {
            for (int i = 0; i < PIECES; i++) {
                pieces[i] = device.allocatePinned(PIECE_BYTES, "staging for inputs");
                copied[i] = CudaEvent.create();
            }
            consumed = CudaEvent.create();
            arrived = CudaEvent.create();
            own = CudaStream.create("inputs");
            stream = own;
        }
        return own;
    }

    @Override
    public void close() {
        CudaStream own = stream;
        if (own == null) {
            return;
        }
        own.synchronize();
        for (int i = 0; i < PIECES; i++) {
            copied[i].close();
            pieces[i].close();
        }
        java.util.Objects.requireNonNull(consumed).close();
        java.util.Objects.requireNonNull(arrived).close();
        own.close();
        stream = null;
    }
}
