package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Batch;
import dev.strata.model.ngram.NgramHash;
import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Rows of large passes, read on a thread of their own from when their tokens are known. */
class NgramAheadTest {
    private static final int MOST = 8;
    private static final int BROKEN = 13;

    /** A token has one row, made of its number and of the one before it. */
    private static final NgramRows ROWS =
            new NgramRows(new NgramHash(List.of(1024L, 1L), List.of(0L), List.of(1L << 20), 1, 0));

    /** A row's only value is its number; rows of one token cannot be read at first. */
    private static final class Table implements NgramTable {
        private final List<Integer> reads = new ArrayList<>();
        private final List<Integer> expected = new ArrayList<>();
        private boolean broken = true;
        private long waited;

        @Override
        public long rows() {
            return 1 << 20;
        }

        @Override
        public int rowElements() {
            return 1;
        }

        @Override
        public synchronized void read(long[] rows, int count, MemorySegment target) {
            reads.add(count);
            for (int i = 0; i < count; i++) {
                if (rows[i] >> 10 == BROKEN && broken) {
                    throw new IllegalStateException("the drive is gone");
                }
                target.setAtIndex(JAVA_FLOAT, i, rows[i]);
            }
        }

        @Override
        public synchronized void expect(long[] rows, int count) {
            expected.add(count);
        }

        @Override
        public void waited(long nanos) {
            waited += nanos;
        }

        /** Rows of every read since the last call. */
        synchronized List<Integer> reads() {
            List<Integer> all = List.copyOf(reads);
            reads.clear();
            return all;
        }
    }

    private final Table table = new Table();
    private final Arena arena = Arena.ofShared();
    private final NgramAhead ahead =
            new NgramAhead(table, ROWS, 2, MOST, () -> arena.allocate(4L * (MOST + NgramAhead.SLACK), 4));

    private static int[] text(int length, int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] text = new int[length];
        Arrays.setAll(text, i -> 20 + random.nextInt(900));
        return text;
    }

    private static Batch.Segment segment(int[] text, int firstRow, int past, int rows) {
        return new Batch.Segment(
                firstRow, rows, past, new int[] {0}, 0, Arrays.copyOfRange(text, Math.max(0, past - 3), past));
    }

    /** Runs a pass over one text and checks what it gets. */
    private void pass(int[] text, int past, int rows) {
        check(new Batch(Arrays.copyOfRange(text, past, past + rows), List.of(segment(text, 0, past, rows)), false));
    }

    private void check(Batch batch) {
        ahead.begin(batch);
        MemorySegment taken = ahead.take(batch);
        float[] found = taken.toArray(JAVA_FLOAT);
        long[] wanted = ROWS.of(batch);
        assertEquals(wanted.length, found.length);
        for (int i = 0; i < wanted.length; i++) {
            assertEquals(wanted[i], (long) found[i], "row " + i);
        }
        ahead.end(batch);
    }

    @Test
    void theFirstPassIsReadWhenItsTextComes() {
        int[] text = text(20, 1);
        ahead.request(text, MOST);
        int[] same = text.clone();
        Arrays.fill(text, 1);
        ahead.expect(same, 0, 20);
        pass(same, 0, 8);
        pass(same, 8, 8);
        pass(same, 16, 4);
        ahead.close();
        assertEquals(
                List.of(8, 8, 4), table.reads(), "each pass's rows once, those of the first before it was expected");
        assertTrue(table.waited > 0);
    }

    @Test
    void aCachedBeginningMovesTheFirstPass() {
        int[] text = text(20, 2);
        ahead.request(text, MOST + 3);
        ahead.expect(text, 3, 20);
        pass(text, 3, 8);
        pass(text, 11, 8);
        ahead.close();
        assertEquals(List.of(11, 8, 1), table.reads());
    }

    @Test
    void passesMayBeCutAnywhere() {
        SplittableRandom random = new SplittableRandom(3);
        for (int round = 0; round < 200; round++) {
            int[] text = text(2 + random.nextInt(40), round);
            if (random.nextBoolean()) {
                ahead.request(text, Math.min(text.length, MOST));
            }
            if (random.nextInt(4) > 0) {
                ahead.expect(text, 0, text.length);
            }
            int end = random.nextInt(4) == 0 ? text.length / 2 : text.length;
            for (int past = 0; past < end; ) {
                int rows = Math.min(1 + random.nextInt(MOST), text.length - past);
                pass(text, past, rows);
                past += rows;
            }
        }
        ahead.close();
    }

    @Test
    void textsThatWaitAreFetchedAndReadNext() {
        int[] first = text(12, 4);
        int[] second = text(6, 5);
        int[] third = text(7, 8);
        ahead.request(first, MOST);
        ahead.expect(first, 0, 12);
        ahead.request(second, 6);
        ahead.request(third, 7);
        pass(first, 0, 8);
        pass(first, 8, 4);
        ahead.expect(second, 0, 6);
        pass(second, 0, 6);
        ahead.expect(third, 0, 7);
        pass(third, 0, 7);
        ahead.close();
        assertEquals(List.of(8, 4, 6, 7), table.reads());
        assertTrue(table.expected.containsAll(List.of(6, 7)), "their rows went to the table's cache while they waited");
    }

    @Test
    void passesOverSeveralTextsGoOnWithTheLast() {
        int[] one = text(3, 6);
        int[] other = text(14, 7);
        ahead.expect(one, 0, 3);
        ahead.expect(other, 0, 14);
        int[] both = new int[8];
        System.arraycopy(one, 0, both, 0, 3);
        System.arraycopy(other, 0, both, 3, 5);
        check(new Batch(both, List.of(segment(one, 0, 0, 3), segment(other, 3, 0, 5)), false));
        pass(other, 5, 8);
        ahead.close();
        assertEquals(List.of(3, 8, 8, 8, 1), table.reads(), "both texts, the shared pass, the rest in two parts");
    }

    @Test
    void whatCannotBeReadAheadIsReadByThePass() {
        int[] text = {1, BROKEN, 2, 3, 4};
        ahead.request(text, 5);
        ahead.expect(text, 0, 5);
        Batch batch = new Batch(text, List.of(segment(text, 0, 0, 5)), false);
        ahead.begin(batch);
        IllegalStateException failed = assertThrows(IllegalStateException.class, () -> ahead.take(batch));
        assertEquals("the drive is gone", failed.getMessage());
        table.broken = false;
        pass(text, 0, 5);
        ahead.close();
        ahead.request(text, 5);
    }

    @Test
    void requestsComeFromAnyThread() throws InterruptedException {
        List<Thread> clients = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            int seed = 100 * client;
            clients.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 200; i++) {
                    ahead.request(text(6, seed + i), 6);
                }
            }));
        }
        for (int i = 0; i < 200; i++) {
            int[] text = text(6, 100 * (i % 4) + i);
            ahead.expect(text, 0, 6);
            pass(text, 0, 6);
        }
        for (Thread client : clients) {
            client.join();
        }
        ahead.close();
    }
}
