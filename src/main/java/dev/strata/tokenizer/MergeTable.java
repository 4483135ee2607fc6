package dev.strata.tokenizer;

/** Which neighbouring tokens merge, in which order of preference, into what. */
final class MergeTable {
    static final long NONE = Long.MAX_VALUE;

    private final long[] pairs;
    /** rank &lt;&lt; 32 | merged id. */
    private final long[] results;

    MergeTable(int merges) {
        int capacity = Integer.highestOneBit(Math.max(8, merges)) << 2;
        pairs = new long[capacity];
        results = new long[capacity];
        java.util.Arrays.fill(pairs, -1);
    }

    /** Adds a merge; of equal pairs the first given counts. */
    void add(int left, int right, int rank, int merged) {
        long pair = pair(left, right);
        int slot = slot(pair);
        while (pairs[slot] != -1) {
            if (pairs[slot] == pair) {
                return;
            }
            slot = slot + 1 & pairs.length - 1;
        }
        pairs[slot] = pair;
        results[slot] = (long) rank << 32 | merged;
    }

    /** {@code rank << 32 | merged id}, or {@link #NONE}. Smaller is better. */
    long find(int left, int right) {
        long pair = pair(left, right);
        int slot = slot(pair);
        while (true) {
            long found = pairs[slot];
            if (found == pair) {
                return results[slot];
            }
            if (found == -1) {
                return NONE;
            }
            slot = slot + 1 & pairs.length - 1;
        }
    }

    private static long pair(int left, int right) {
        return (long) left << 32 | right;
    }

    private int slot(long pair) {
        long mixed = pair * 0x9E3779B97F4A7C15L;
        return (int) (mixed >>> 40) & pairs.length - 1;
    }
}
