package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Batch;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * What kernels read of the running pass, in one piece of device memory: for every row its token, position, first entry in the page
 * table and the first row of its segment; for every segment first row, rows, past, first entry in the page table and slot; then the page
 * tables. A pass over several batches has such a part for each, one behind the other, and all page tables at the end. Where things lie depends
 * only on the numbers of rows and segments, so that replays find them.
 */
final class StepRecord implements AutoCloseable {
    private static final int ROW_ARRAYS = 4;
    private static final int SEGMENT_ARRAYS = 5;
    private static final long BYTES = 64 << 10;

    private final RecordMemory memory;
    private final Staging staging;
    private List<Batch> batches = List.of();
    /** Words before the page tables. */
    private int heads;
    /** Words before the part of the batch that is described now. */
    private int head;

    private int rows;
    private int segments;
    private int longestSegment;
    private int contextBucket;

    StepRecord(CudaDevice device, CudaStream stream, Staging staging) {
        this.memory = new RecordMemory(device, stream, "step record", BYTES);
        this.staging = staging;
    }

    /** Brings what there is to know of {@code all} to the card, and describes the first one to the kernels queued from now on. */
    void load(List<Batch> all) {
        batches = all;
        heads = 0;
        int pages = 0;
        int context = 1;
        for (Batch batch : all) {
            heads += words(batch);
            for (Batch.Segment segment : batch.segments()) {
                int end = segment.past() + segment.rows();
                pages += Math.ceilDiv(end, Batch.PAGE);
                context = Math.max(context, end);
            }
        }
        contextBucket = Math.max(
                Batch.PAGE, Integer.highestOneBit(context) == context ? context : Integer.highestOneBit(context) << 1);
        long bytes = 4L * (heads + pages);
        memory.ensure(bytes);
        if (bytes <= staging.pieceBytes()) {
            fill(staging.claim());
            staging.send(bytes, address());
        } else {
            MemorySegment whole = MemorySegment.ofArray(new int[(int) (bytes / 4)]);
            fill(whole);
            staging.write(whole, address());
        }
        select(all.getFirst());
    }

    /** Describes another one of the batches; false when it is none of them. */
    boolean select(Batch wanted) {
        int at = 0;
        for (Batch batch : batches) {
            if (batch == wanted) {
                head = at;
                rows = batch.rows();
                segments = batch.segments().size();
                longestSegment = 0;
                for (Batch.Segment segment : batch.segments()) {
                    longestSegment = Math.max(longestSegment, segment.rows());
                }
                return true;
            }
            at += words(batch);
        }
        return false;
    }

    private static int words(Batch batch) {
        return ROW_ARRAYS * batch.rows() + SEGMENT_ARRAYS * batch.segments().size();
    }

    private void fill(MemorySegment to) {
        int at = 0;
        int page = 0;
        for (Batch batch : batches) {
            page = fill(batch, to, at, page);
            at += words(batch);
        }
    }

    /** Writes one part, and its page tables from entry {@code page} on; returns the entry behind them. */
    private int fill(Batch batch, MemorySegment to, int begin, int page) {
        int count = batch.rows();
        int of = batch.segments().size();
        int next = page;
        for (int s = 0; s < of; s++) {
            Batch.Segment segment = batch.segments().get(s);
            long at = begin + (long) ROW_ARRAYS * count + s;
            to.setAtIndex(JAVA_INT, at, segment.firstRow());
            to.setAtIndex(JAVA_INT, at + of, segment.rows());
            to.setAtIndex(JAVA_INT, at + 2L * of, segment.past());
            to.setAtIndex(JAVA_INT, at + 3L * of, next);
            to.setAtIndex(JAVA_INT, at + 4L * of, segment.slot());
            for (int i = 0; i < segment.rows(); i++) {
                int row = segment.firstRow() + i;
                long own = (long) begin + row;
                to.setAtIndex(JAVA_INT, own, batch.tokens()[row]);
                to.setAtIndex(JAVA_INT, own + count, segment.past() + i);
                to.setAtIndex(JAVA_INT, own + 2L * count, next);
                to.setAtIndex(JAVA_INT, own + 3L * count, segment.firstRow());
            }
            int used = Math.ceilDiv(segment.past() + segment.rows(), Batch.PAGE);
            MemorySegment.copy(segment.pages(), 0, to, JAVA_INT, 4L * (heads + next), used);
            next += used;
        }
        return next;
    }

    private long address() {
        if (batches.isEmpty()) {
            throw new IllegalStateException("operations that read the batch run inside a pass");
        }
        return memory.address();
    }

    long tokens() {
        return address() + 4L * head;
    }

    long positions() {
        return tokens() + 4L * rows;
    }

    long pageBases() {
        return tokens() + 8L * rows;
    }

    long segmentFirsts() {
        return tokens() + 12L * rows;
    }

    long firstRows() {
        return tokens() + 4L * ROW_ARRAYS * rows;
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
        return address() + 4L * heads;
    }

    int segments() {
        return segments;
    }

    /** Rows of the longest segment. */
    int longestSegment() {
        return longestSegment;
    }

    /** The longest context of all batches, rounded up to a power of two, at least one page. */
    int contextBucket() {
        return contextBucket;
    }

    /** Changes when the record moves. */
    int generation() {
        return memory.generation();
    }

    @Override
    public void close() {
        memory.close();
    }
}
