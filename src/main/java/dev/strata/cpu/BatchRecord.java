package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Batch;
import dev.strata.device.HostBuffer;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A pass as the kernels read it, int32 throughout: {rows, segments, hold, serial}, token ids, then per segment {first row, rows, past, slot,
 * index of its page list, 0}, then the page lists. The serial number changes with every pass.
 */
final class BatchRecord implements AutoCloseable {
    private static final int HEADER = 4;
    private static final int SEGMENT = 6;

    private HostBuffer buffer = HugePages.allocate(1 << 16, "batch record");
    private @Nullable Batch current;
    private int serial;

    /** Address of the record of {@code batch}; written anew when another batch was current. */
    long of(Batch batch) {
        if (current != batch) {
            write(batch);
        }
        return buffer.address();
    }

    /** Writes the record of a pass that begins. */
    void write(Batch batch) {
        int segments = batch.segments().size();
        int ints = HEADER + batch.rows() + SEGMENT * segments;
        for (int i = 0; i < segments; i++) {
            ints += batch.segments().get(i).pages().length;
        }
        if (4L * ints > buffer.bytes()) {
            buffer.close();
            buffer = HugePages.allocate(8L * ints, "batch record");
        }
        MemorySegment record = buffer.host();
        record.setAtIndex(JAVA_INT, 0, batch.rows());
        record.setAtIndex(JAVA_INT, 1, segments);
        record.setAtIndex(JAVA_INT, 2, batch.hold() ? 1 : 0);
        record.setAtIndex(JAVA_INT, 3, ++serial & Integer.MAX_VALUE);
        MemorySegment.copy(batch.tokens(), 0, record, JAVA_INT, 4L * HEADER, batch.rows());
        int at = HEADER + batch.rows();
        int pages = at + SEGMENT * segments;
        for (int i = 0; i < segments; i++) {
            Batch.Segment segment = batch.segments().get(i);
            record.setAtIndex(JAVA_INT, at, segment.firstRow());
            record.setAtIndex(JAVA_INT, at + 1, segment.rows());
            record.setAtIndex(JAVA_INT, at + 2, segment.past());
            record.setAtIndex(JAVA_INT, at + 3, segment.slot());
            record.setAtIndex(JAVA_INT, at + 4, pages);
            record.setAtIndex(JAVA_INT, at + 5, 0);
            MemorySegment.copy(segment.pages(), 0, record, JAVA_INT, 4L * pages, segment.pages().length);
            pages += segment.pages().length;
            at += SEGMENT;
        }
        current = batch;
    }

    @Override
    public void close() {
        buffer.close();
    }
}
