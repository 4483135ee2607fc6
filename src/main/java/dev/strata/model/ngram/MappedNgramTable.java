package dev.strata.model.ngram;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/** A table in mapped memory, in shards of equal length (the last may be shorter). */
public final class MappedNgramTable implements NgramTable {
    /** Decodes {@code count} values at an offset. */
    public interface Decoder {
        void decode(MemorySegment source, long offset, float[] target, int count);
    }

    private static final int PARALLEL_ROWS = 512;
    private static final int PART_ROWS = 128;
    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private final List<MemorySegment> shards;
    private final Decoder decoder;
    private final int rowElements;
    private final float scale;
    private final long rowBytes;
    private final long shardRows;
    private final long rows;

    /** @param shards consecutive rows of the table, all of one type */
    public MappedNgramTable(List<MemorySegment> shards, QuantType type, int rowElements) {
        this(
                shards,
                (source, offset, target, count) -> Quants.decode(type, source, offset, target, 0, count),
                type.bytes(rowElements),
                rowElements,
                1);
    }

    /**
     * @param shards consecutive rows of the table, all stored alike
     * @param rowBytes length of a row
     * @param scale factor on all values
     */
    public MappedNgramTable(List<MemorySegment> shards, Decoder decoder, long rowBytes, int rowElements, float scale) {
        this.shards = List.copyOf(shards);
        this.decoder = decoder;
        this.rowElements = rowElements;
        this.scale = scale;
        this.rowBytes = rowBytes;
        this.shardRows = shards.getFirst().byteSize() / rowBytes;
        this.rows = shards.stream().mapToLong(MemorySegment::byteSize).sum() / rowBytes;
    }

    @Override
    public long rows() {
        return rows;
    }

    @Override
    public int rowElements() {
        return rowElements;
    }

    @Override
    public void read(long[] wanted, int count, MemorySegment target) {
        if (count < PARALLEL_ROWS || !target.isAccessibleBy(OTHER_THREAD)) {
            read(wanted, 0, count, target);
            return;
        }
        // A prompt's rows lie all over the table: many threads wait for the drive at the same time, and decode.
        int parts = Math.ceilDiv(count, PART_ROWS);
        IntStream.range(0, parts)
                .parallel()
                .forEach(part -> read(wanted, part * PART_ROWS, Math.min(count, (part + 1) * PART_ROWS), target));
    }

    private void read(long[] wanted, int from, int to, MemorySegment target) {
        float[] values = new float[rowElements];
        for (int i = from; i < to; i++) {
            long row = wanted[i];
            if (row < 0 || row >= rows) {
                throw new IllegalArgumentException("row " + row + " is outside the n-gram table of " + rows + " rows");
            }
            MemorySegment shard = shards.get((int) (row / shardRows));
            decoder.decode(shard, row % shardRows * rowBytes, values, rowElements);
            for (int j = 0; j < rowElements; j++) {
                values[j] *= scale;
            }
            MemorySegment.copy(values, 0, target, JAVA_FLOAT_UNALIGNED, 4L * i * rowElements, rowElements);
        }
    }
}
