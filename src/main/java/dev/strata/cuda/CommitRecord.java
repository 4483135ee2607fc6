package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Batch;
import java.lang.foreign.MemorySegment;

/** The segments of a held pass as kernels see them while its accepted rows are replayed: first rows, accepted rows, slots. */
final class CommitRecord implements AutoCloseable {
    private static final int ARRAYS = 3;
    private static final long BYTES = 4096;

    private final RecordMemory memory;
    private final Staging staging;
    private int rows;
    private int segments;

    CommitRecord(CudaDevice device, CudaStream stream, Staging staging) {
        this.memory = new RecordMemory(device, stream, "accepted rows", BYTES);
        this.staging = staging;
    }

    /** Brings it to the card in the order of {@code order}. */
    void load(Batch batch, int[] accepted, CudaStream order) {
        rows = batch.rows();
        segments = accepted.length;
        long bytes = 4L * ARRAYS * segments;
        memory.ensure(bytes);
        MemorySegment piece = staging.claim();
        for (int s = 0; s < segments; s++) {
            Batch.Segment segment = batch.segments().get(s);
            piece.setAtIndex(JAVA_INT, s, segment.firstRow());
            piece.setAtIndex(JAVA_INT, segments + s, accepted[s]);
            piece.setAtIndex(JAVA_INT, 2L * segments + s, segment.slot());
        }
        staging.send(bytes, memory.address(), order);
    }

    /** Where the segments lie, as kernels want it. */
    DeltaKernels.Segments segments() {
        long at = memory.address();
        return new DeltaKernels.Segments(at, at + 4L * segments, at + 8L * segments, segments, Batch.MAX_WINDOW);
    }

    /** Rows of the held pass. */
    int rows() {
        return rows;
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
