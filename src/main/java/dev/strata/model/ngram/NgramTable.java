package dev.strata.model.ngram;

import java.lang.foreign.MemorySegment;
import java.util.Map;

/** Where the values of table rows come from: mapped files, RAM, or reads that bypass the page cache. */
public interface NgramTable extends AutoCloseable {
    /** Rows in the table. */
    long rows();

    /** Values in one row. */
    int rowElements();

    /**
     * Writes the values of {@code count} rows as float32, one after the other, to the start of {@code target}.
     *
     * @throws IllegalArgumentException when a row is outside the table
     * @throws java.io.UncheckedIOException naming file and offset when a row cannot be read
     */
    void read(long[] rows, int count, MemorySegment target);

    /** {@link #read} on a thread of its own, while passes go on; a table that measures them counts only what they wait. */
    default void readAhead(long[] rows, int count, MemorySegment target) {
        read(rows, count, target);
    }

    /** A pass waited for rows that were being read ahead. */
    default void waited(long nanos) {}

    /** Tells that {@code count} rows will be read soon, so that they can be fetched meanwhile; returns at once. */
    default void expect(long[] rows, int count) {}

    /** What was read and how, by name; empty where nothing is counted. */
    default Map<String, Object> figures() {
        return Map.of();
    }

    @Override
    default void close() {}

    /** Refuses rows outside the table. */
    static void check(NgramTable table, long[] rows, int count) {
        for (int i = 0; i < count; i++) {
            if (rows[i] < 0 || rows[i] >= table.rows()) {
                throw new IllegalArgumentException(
                        "row " + rows[i] + " is outside the n-gram table of " + table.rows() + " rows");
            }
        }
    }
}
