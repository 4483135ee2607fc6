package dev.strata.model.ngram;

import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Stored rows that were read lately, in sets of four; any thread. */
final class RowCache implements AutoCloseable {
    private static final int WAYS = 4;
    private static final int STRIPES = 1024;

    private final int rowBytes;
    private final int mask;
    private final long[] rows;
    private final byte[] hands;
    private final Object[] locks = new Object[STRIPES];
    private final HostPages memory;

    /** @param most rows kept at most; the largest power of two below it is */
    RowCache(int most, int rowBytes) {
        this.rowBytes = rowBytes;
        int sets = Integer.highestOneBit(Math.max(WAYS, most) / WAYS);
        mask = sets - 1;
        rows = new long[sets * WAYS];
        Arrays.fill(rows, -1);
        hands = new byte[sets];
        Arrays.setAll(locks, i -> new Object());
        memory = HostPages.allocate((long) rows.length * rowBytes, "n-gram row cache");
    }

    int capacity() {
        return rows.length;
    }

    /** Copies a row that is here to the start of {@code target}. */
    boolean get(long row, MemorySegment target) {
        int set = set(row);
        synchronized (locks[set & STRIPES - 1]) {
            int place = place(set, row);
            if (place < 0) {
                return false;
            }
            MemorySegment.copy(memory.memory(), (long) place * rowBytes, target, 0, rowBytes);
            return true;
        }
    }

    boolean has(long row) {
        int set = set(row);
        synchronized (locks[set & STRIPES - 1]) {
            return place(set, row) >= 0;
        }
    }

    /** Keeps a row, in place of the one that came first into its set. */
    void put(long row, MemorySegment source, long offset) {
        int set = set(row);
        synchronized (locks[set & STRIPES - 1]) {
            if (place(set, row) >= 0) {
                return;
            }
            int place = set * WAYS + hands[set];
            hands[set] = (byte) ((hands[set] + 1) % WAYS);
            rows[place] = row;
            MemorySegment.copy(source, offset, memory.memory(), (long) place * rowBytes, rowBytes);
        }
    }

    private int set(long row) {
        long mixed = row * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 32) & mask;
    }

    private int place(int set, long row) {
        for (int place = set * WAYS; place < (set + 1) * WAYS; place++) {
            if (rows[place] == row) {
                return place;
            }
        }
        return -1;
    }

    @Override
    public void close() {
        memory.close();
    }
}
