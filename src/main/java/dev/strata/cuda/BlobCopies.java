package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.Stream;
import java.lang.foreign.MemorySegment;

/** Copies many blobs on the card by one kernel: a copy of its own for each takes the host several microseconds. One thread uses it. */
final class BlobCopies implements AutoCloseable {
    /** Blobs of one launch. */
    private static final int MOST = 256;

    private static final long ENTRY_BYTES = 3 * Long.BYTES;

    private final CudaStream stream;
    private final Launcher launcher;
    private final Kernel keep;
    private final int processors;
    private final Buffer list;
    private final CudaEvent read = CudaEvent.create();

    BlobCopies(CudaDevice device, CudaStream stream, Launcher launcher, Kernels kernels) {
        this.stream = stream;
        this.launcher = launcher;
        this.keep = kernels.get("keep_blobs");
        this.processors = device.multiprocessors();
        this.list = device.allocatePinned(MOST * ENTRY_BYTES, "blobs that are kept");
    }

    /** Whether this launches on {@code other}. */
    boolean uses(Stream other) {
        return stream == other;
    }

    /** Queues copies between addresses; sizes are rounded up to 16 bytes. */
    void run(long[] from, long[] to, long[] bytes, int count) {
        MemorySegment entries = list.host();
        for (int first = 0; first < count; first += MOST) {
            int some = Math.min(MOST, count - first);
            read.synchronize();
            for (int i = 0; i < some; i++) {
                entries.setAtIndex(JAVA_LONG, 3L * i, from[first + i]);
                entries.setAtIndex(JAVA_LONG, 3L * i + 1, to[first + i]);
                entries.setAtIndex(JAVA_LONG, 3L * i + 2, (bytes[first + i] + 15) & -16);
            }
            launcher.begin().address(list.address()).integer(some).launch(keep, processors, 512);
            read.record(stream);
        }
    }

    @Override
    public void close() {
        read.synchronize();
        read.close();
        list.close();
    }
}
