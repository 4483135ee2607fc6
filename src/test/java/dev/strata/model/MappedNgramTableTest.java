package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.strata.format.QuantType;
import dev.strata.model.ngram.MappedNgramTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Rows of the n-gram table, few and many at once. */
class MappedNgramTableTest {
    private static final int COLUMNS = 64;
    private static final int ROWS = 300;

    @Test
    void manyRowsAreTheSameAsOneByOne() {
        SplittableRandom random = new SplittableRandom(3);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment first = arena.allocate(QuantType.F32.bytes(COLUMNS) * ROWS, 64);
            MemorySegment second = arena.allocate(QuantType.F32.bytes(COLUMNS) * ROWS, 64);
            for (long i = 0; i < (long) COLUMNS * ROWS; i++) {
                first.setAtIndex(JAVA_FLOAT, i, i);
                second.setAtIndex(JAVA_FLOAT, i, -i - 1);
            }
            MappedNgramTable table = new MappedNgramTable(List.of(first, second), QuantType.F32, COLUMNS);
            int count = 5000;
            long[] rows = random.longs(count, 0, 2 * ROWS).toArray();
            MemorySegment many = arena.allocate(4L * COLUMNS * count, 64);
            table.read(rows, count, many);
            try (Arena own = Arena.ofConfined()) {
                MemorySegment alone = own.allocate(4L * COLUMNS * count, 64);
                table.read(rows, count, alone);
                assertArrayEquals(alone.toArray(JAVA_FLOAT), many.toArray(JAVA_FLOAT));
                MemorySegment one = own.allocate(4L * COLUMNS, 64);
                for (int i = 0; i < count; i += 371) {
                    table.read(new long[] {rows[i]}, 1, one);
                    assertArrayEquals(
                            one.toArray(JAVA_FLOAT),
                            many.asSlice(4L * COLUMNS * i, 4L * COLUMNS).toArray(JAVA_FLOAT));
                }
            }
            rows[4000] = 2 * ROWS;
            assertThrows(IllegalArgumentException.class, () -> table.read(rows, count, many));
        }
    }
}
