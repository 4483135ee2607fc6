package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Rows of the next chunk, read while the one before is computed. */
class NgramAheadTest {
    /** A row's only value is its number; row 13 cannot be read. */
    private static final class Table implements NgramTable {
        private final Thread owner = Thread.currentThread();
        private int elsewhere;
        private long waited;

        @Override
        public long rows() {
            return 1000;
        }

        @Override
        public int rowElements() {
            return 1;
        }

        @Override
        public void read(long[] rows, int count, MemorySegment target) {
            elsewhere += Thread.currentThread() == owner ? 0 : 1;
            for (int i = 0; i < count; i++) {
                if (rows[i] == 13) {
                    throw new IllegalStateException("the drive is gone");
                }
                target.setAtIndex(JAVA_FLOAT, i, rows[i]);
            }
        }

        @Override
        public void waited(long nanos) {
            waited += nanos;
        }
    }

    /** A token's row is ten times its number. */
    private static long[] rows(int[] tokens, int from, int to) {
        return Arrays.stream(tokens, from, to).mapToLong(token -> 10L * token).toArray();
    }

    @Test
    void chunksAreReadOneAheadAndTakenOnlyWhenTheyAreTheSame() {
        Table table = new Table();
        try (Arena arena = Arena.ofShared();
                NgramAhead ahead = new NgramAhead(table, () -> arena.allocate(64, 4))) {
            int[] text = {1, 2, 3, 4, 5, 6, 7};
            assertNull(ahead.take(rows(text, 0, 2)), "nothing was expected");
            ahead.expect(text, 2, 7);
            ahead.start(NgramAheadTest::rows, 2);
            text[2] = 99;
            MemorySegment read = ahead.take(new long[] {30, 40});
            assertNotNull(read);
            assertEquals(30, read.getAtIndex(JAVA_FLOAT, 0));
            assertEquals(40, read.getAtIndex(JAVA_FLOAT, 1));
            ahead.start(NgramAheadTest::rows, 2);
            assertNull(ahead.take(new long[] {50, 61}), "another text");
            ahead.start(NgramAheadTest::rows, 2);
            assertNotNull(ahead.take(new long[] {70}), "the rest");
            ahead.start(NgramAheadTest::rows, 2);
            assertNull(ahead.take(new long[] {70}), "nothing is left");
            assertEquals(3, table.elsewhere);
            assertTrue(table.waited > 0);
        }
    }

    @Test
    void whatCannotBeReadAheadIsLeftToThePass() {
        Table table = new Table();
        try (Arena arena = Arena.ofShared();
                NgramAhead ahead = new NgramAhead(table, () -> arena.allocate(64, 4))) {
            ahead.expect(new int[] {1, 13, 2}, 1, 3);
            ahead.start((tokens, from, to) -> new long[] {13}, 1);
            assertNull(ahead.take(new long[] {13}));
            ahead.start((tokens, from, to) -> new long[] {20}, 1);
            assertNotNull(ahead.take(new long[] {20}));
        }
    }
}
