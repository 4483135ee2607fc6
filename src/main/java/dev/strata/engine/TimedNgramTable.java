package dev.strata.engine;

import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/** A table that counts how long passes wait for its rows. */
final class TimedNgramTable implements NgramTable {
    private final NgramTable table;
    private long nanos;

    TimedNgramTable(NgramTable table) {
        this.table = table;
    }

    /** Milliseconds of all reads since the last call. */
    double waitedMillis() {
        double waited = nanos / 1e6;
        nanos = 0;
        return waited;
    }

    @Override
    public long rows() {
        return table.rows();
    }

    @Override
    public int rowElements() {
        return table.rowElements();
    }

    @Override
    public void read(long[] rows, int count, MemorySegment target) {
        long start = System.nanoTime();
        table.read(rows, count, target);
        nanos += System.nanoTime() - start;
    }

    @Override
    public void readAhead(long[] rows, int count, MemorySegment target) {
        table.readAhead(rows, count, target);
    }

    @Override
    public void waited(long waitedNanos) {
        nanos += waitedNanos;
    }

    @Override
    public void expect(long[] rows, int count) {
        table.expect(rows, count);
    }

    @Override
    public Map<String, Object> figures() {
        return table.figures();
    }

    @Override
    public void close() {
        table.close();
    }
}
