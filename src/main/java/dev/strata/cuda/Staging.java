package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;

/** A ring of pinned buffers through which small host data goes to the card and back. One thread uses it. */
final class Staging implements AutoCloseable {
    private static final int PIECES = 4;

    private final CudaStream stream;
    private final Buffer[] pieces = new Buffer[PIECES];
    private final CudaEvent[] events = new CudaEvent[PIECES];
    private final long pieceBytes;
    private int next;

    Staging(CudaDevice device, CudaStream stream, long pieceBytes) {
        this.stream = stream;
        this.pieceBytes = pieceBytes;
        for (int i = 0; i < PIECES; i++) {
            pieces[i] = device.allocatePinned(pieceBytes, "staging for small copies");
            events[i] = CudaEvent.create();
        }
    }

    long pieceBytes() {
        return pieceBytes;
    }

    /** A piece that no copy reads any more, for data that {@link #send} then sends. */
    MemorySegment claim() {
        events[next].synchronize();
        return pieces[next].host();
    }

    /** Queues the first {@code bytes} bytes of the claimed piece. */
    void send(long bytes, long target) {
        send(bytes, target, stream);
    }

    /** The same in the order of another stream. */
    void send(long bytes, long target, CudaStream order) {
        Driver.copyToDevice(target, pieces[next].host().asSlice(0, bytes), order.handle());
        events[next].record(order);
        next = (next + 1) % PIECES;
    }

    /** Copies {@code source} to the card. The source may change when this returns. */
    void write(MemorySegment source, long target) {
        for (long done = 0; done < source.byteSize(); done += pieceBytes) {
            long bytes = Math.min(pieceBytes, source.byteSize() - done);
            MemorySegment.copy(source, done, claim(), 0, bytes);
            send(bytes, target + done);
        }
    }

    /** Waits for all work and copies from the card, pieces in turn so that both copies overlap. */
    void read(long source, MemorySegment target) {
        long total = target.byteSize();
        long copied = 0;
        long queued = 0;
        int first = next;
        while (copied < total) {
            while (queued < total && queued - copied < PIECES * pieceBytes) {
                long bytes = Math.min(pieceBytes, total - queued);
                int piece = (int) ((first + queued / pieceBytes) % PIECES);
                events[piece].synchronize();
                Driver.copyToHost(pieces[piece].host().asSlice(0, bytes), source + queued, stream.handle());
                events[piece].record(stream);
                queued += bytes;
            }
            int piece = (int) ((first + copied / pieceBytes) % PIECES);
            long bytes = Math.min(pieceBytes, total - copied);
            events[piece].synchronize();
            MemorySegment.copy(pieces[piece].host(), 0, target, copied, bytes);
            copied += bytes;
        }
        if (total == 0) {
            stream.synchronize();
        }
    }

    @Override
    public void close() {
        for (int i = 0; i < PIECES; i++) {
            events[i].synchronize();
            events[i].close();
            pieces[i].close();
        }
    }
}
