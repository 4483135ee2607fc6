package dev.strata.model.ngram;

import java.lang.foreign.MemorySegment;

/** Where the values of table rows come from: mapped files, or reads that bypass the page cache. */
public interface NgramTable extends AutoCloseable {
    /** Rows in the table. */
    long rows();

    /** Values in one row. */
    int rowElements();

    /**
     * Writes the values of {@code count} rows as float32, one after the other, to the start of {@code target}.
     *
     * @throws IllegalArgumentException when a row is outside the table
     */
    void read(long[] rows, int count, MemorySegment target);

    @Override
    default void close() {}
}
