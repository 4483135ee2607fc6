package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Batch;
import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What kernels read of the running pass, in one piece of device memory: for every row its token, position, first entry in the page
 * table and the first row of its segment; for every segment first row, rows, past, first entry in the page table and slot; then the page
 * tables. Where things lie depends only on the numbers of rows and segments, so that replays find them.
 */
final class StepRecord implements AutoCloseable {
    private static final int ROW_ARRAYS = 4;
    private static final int SEGMENT_ARRAYS = 5;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Staging staging;
    private @Nullable Buffer buffer;
    private int generation;
    private int rows;
    private int segments;
    private int longestSegment;
    private int contextBucket;

    StepRecord(CudaDevice device, CudaStream stream, Staging staging) {
        this.device = device;
        this.stream = stream;
        this.staging = staging;
    }

    /** Describes {@code batch} to the kernels queued from now on. */
    void load(Batch batch) {
        rows = batch.rows();
        segments = batch.segments().size();
        int pages = 0;
        longestSegment = 0;
        int context = 1;
        for (Batch.Segment segment : batch.segments()) {
            int end = segment.past() + segment.rows();
            pages += Math.ceilDiv(end, Batch.PAGE);
            longestSegment = Math.max(longestSegment, segment.rows());
            context = Math.max(context, end);
        }
        contextBucket = Math.max(
                Batch.PAGE, Integer.highestOneBit(context) == context ? context : Integer.highestOneBit(context) << 1);
        long bytes = 4L * (ROW_ARRAYS * rows + SEGMENT_ARRAYS * segments + pages);
        ensure(bytes);
        if (bytes <= staging.pieceBytes()) {
            fill(batch, staging.claim());
            staging.send(bytes, address());
        } else {
            MemorySegment whole = MemorySegment.ofArray(new int[(int) (bytes / 4)]);
            fill(batch, whole);
            staging.write(whole, address());
        }
    }

    private void fill(Batch batch, MemorySegment to) {
        int page = 0;
        int pagesAt = ROW_ARRAYS * rows + SEGMENT_ARRAYS * segments;
        for (int s = 0; s < segments; s++) {
            Batch.Segment segment = batch.segments().get(s);
            int at = ROW_ARRAYS * rows + s;
            to.setAtIndex(JAVA_INT, at, segment.firstRow());
            to.setAtIndex(JAVA_INT, at + segments, segment.rows());
            to.setAtIndex(JAVA_INT, at + 2L * segments, segment.past());
            to.setAtIndex(JAVA_INT, at + 3L * segments, page);
            to.setAtIndex(JAVA_INT, at + 4L * segments, segment.slot());
            for (int i = 0; i < segment.rows(); i++) {
                int row = segment.firstRow() + i;
                to.setAtIndex(JAVA_INT, row, batch.tokens()[row]);
                to.setAtIndex(JAVA_INT, rows + row, segment.past() + i);
                to.setAtIndex(JAVA_INT, 2L * rows + row, page);
                to.setAtIndex(JAVA_INT, 3L * rows + row, segment.firstRow());
            }
            int used = Math.ceilDiv(segment.past() + segment.rows(), Batch.PAGE);
            MemorySegment.copy(segment.pages(), 0, to, JAVA_INT, 4L * (pagesAt + page), used);
            page += used;
        }
    }

    private void ensure(long bytes) {
        if (buffer == null || buffer.bytes() < bytes) {
            if (buffer != null) {
                stream.synchronize();
                buffer.close();
            }
            buffer = device.allocate(Math.max(64 << 10, Long.highestOneBit(bytes) << 1), "step record");
            generation++;
        }
    }

    private long address() {
        if (buffer == null) {
            throw new IllegalStateException("operations that read the batch run inside a pass");
        }
        return buffer.address();
    }

    long tokens() {
        return address();
    }

    long positions() {
        return address() + 4L * rows;
    }

    long pageBases() {
        return address() + 8L * rows;
    }

    long segmentFirsts() {
        return address() + 12L * rows;
    }

    long firstRows() {
        return address() + 4L * ROW_ARRAYS * rows;
    }

    long counts() {
        return firstRows() + 4L * segments;
    }

    long pasts() {
        return firstRows() + 8L * segments;
    }

    long segmentBases() {
        return firstRows() + 12L * segments;
    }

    long slots() {
        return firstRows() + 16L * segments;
    }

    long pages() {
        return firstRows() + 4L * SEGMENT_ARRAYS * segments;
    }

    int segments() {
        return segments;
    }

    /** Rows of the longest segment. */
    int longestSegment() {
        return longestSegment;
    }

    /** The longest context of the pass, rounded up to a power of two, at least one page. */
    int contextBucket() {
        return contextBucket;
    }

    /** Changes when the record moves. */
    int generation() {
        return generation;
    }

    @Override
    public void close() {
        if (buffer != null) {
            buffer.close();
        }
    }
}
