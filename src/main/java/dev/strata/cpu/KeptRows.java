package dev.strata.cpu;

import dev.strata.device.HostBuffer;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;

/** A copy of the rows of one tensor of a pass; its memory grows to the largest pass and is used again. */
final class KeptRows implements AutoCloseable {
    private final int columns;
    private HostBuffer buffer = HostBuffer.of(MemorySegment.NULL);

    KeptRows(int columns) {
        this.columns = columns;
    }

    /** Room for {@code rows} rows; what was kept is lost. */
    long room(int rows) {
        if (4L * rows * columns > buffer.bytes()) {
            buffer.close();
            buffer = HugePages.allocate(4L * rows * columns, "inputs of a held pass");
        }
        return buffer.address();
    }

    void keep(Tensor rows) {
        room(rows.rows());
        MemorySegment.copy(rows.buffer().host(), rows.offset(), buffer.host(), 0, 4L * rows.rows() * rows.columns());
    }

    /** Address of a kept row. */
    long row(int index) {
        return buffer.address() + 4L * index * columns;
    }

    long bytes() {
        return buffer.bytes();
    }

    @Override
    public void close() {
        buffer.close();
    }
}
