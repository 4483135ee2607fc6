package dev.strata.model.ngram;

import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A table in addressable memory (mapped files, or RAM of our own), in shards of equal length (the last may be shorter). */
public final class MappedNgramTable implements NgramTable {
    private final List<MemorySegment> shards;
    private final RowFormat format;
    private final Runnable closer;
    private final long shardRows;
    private final long rows;

    /** @param shards consecutive rows of the table, all of one type */
    public MappedNgramTable(List<MemorySegment> shards, QuantType type, int rowElements) {
        this(shards, RowFormat.of(type, rowElements), () -> {});
    }

    /**
     * @param shards consecutive rows of the table, all stored alike
     * @param closer gives the memory back
     */
    public MappedNgramTable(List<MemorySegment> shards, RowFormat format, Runnable closer) {
        this.shards = List.copyOf(shards);
        this.format = format;
        this.closer = closer;
        this.shardRows = shards.getFirst().byteSize() / format.bytes();
        this.rows = shards.stream().mapToLong(MemorySegment::byteSize).sum() / format.bytes();
    }

    @Override
    public long rows() {
        return rows;
    }

    @Override
    public int rowElements() {
        return format.elements();
    }

    /** A prompt's rows lie all over the table: many threads wait for the drive at the same time, and decode. */
    @Override
    public void read(long[] wanted, int count, MemorySegment target) {
        NgramTable.check(this, wanted, count);
        RowParts.run(count, RowParts.shared(target), (part, from, to) -> {
            float[] values = new float[format.elements()];
            for (int i = from; i < to; i++) {
                MemorySegment shard = shards.get((int) (wanted[i] / shardRows));
                format.write(shard, wanted[i] % shardRows * format.bytes(), values, target, i);
            }
        });
    }

    @Override
    public void close() {
        closer.run();
    }
}
