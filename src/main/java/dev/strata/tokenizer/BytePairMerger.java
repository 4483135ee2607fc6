package dev.strata.tokenizer;

import java.util.Arrays;
import java.util.PriorityQueue;

/**
 * Merges the bytes of one piece, best rank first, leftmost among equals. Short pieces by looking at all pairs after every merge, long ones
 * with a heap, so that a piece of n bytes never costs n squared.
 */
final class BytePairMerger {
    private static final int SHORT = 32;

    private final MergeTable merges;
    private final int[] byteIds;

    /** @param byteIds id of each single byte, -1 where the vocabulary has none */
    BytePairMerger(MergeTable merges, int[] byteIds) {
        this.merges = merges;
        this.byteIds = byteIds;
    }

    void merge(byte[] bytes, int length, IntList out) {
        int[] ids = new int[length];
        int count = 0;
        for (int index = 0; index < length; index++) {
            int id = byteIds[bytes[index] & 0xFF];
            // A byte outside the vocabulary has no id at all; the tokenizers it comes from drop it too (no unknown
            // token).
            if (id >= 0) {
                ids[count++] = id;
            }
        }
        if (count <= SHORT) {
            mergeShort(ids, count, out);
        } else {
            mergeLong(ids, count, out);
        }
    }

    private void mergeShort(int[] ids, int initial, IntList out) {
        int count = initial;
        long[] results = new long[SHORT];
        for (int index = 0; index + 1 < count; index++) {
            results[index] = merges.find(ids[index], ids[index + 1]);
        }
        while (count > 1) {
            int best = 0;
            for (int index = 1; index + 1 < count; index++) {
                if (results[index] >>> 32 < results[best] >>> 32) {
                    best = index;
                }
            }
            if (results[best] == MergeTable.NONE) {
                break;
            }
            ids[best] = (int) results[best];
            count--;
            System.arraycopy(ids, best + 2, ids, best + 1, count - best - 1);
            System.arraycopy(results, best + 1, results, best, Math.max(0, count - best - 1));
            if (best + 1 < count) {
                results[best] = merges.find(ids[best], ids[best + 1]);
            }
            if (best > 0) {
                results[best - 1] = merges.find(ids[best - 1], ids[best]);
            }
        }
        for (int index = 0; index < count; index++) {
            out.add(ids[index]);
        }
    }

    /** A pair that could merge; it is stale when either side has changed since. */
    private record Candidate(long result, int left, int leftId, int rightId) implements Comparable<Candidate> {
        @Override
        public int compareTo(Candidate other) {
            int byRank = Long.compare(result >>> 32, other.result >>> 32);
            return byRank != 0 ? byRank : Integer.compare(left, other.left);
        }
    }

    private void mergeLong(int[] ids, int count, IntList out) {
        int[] next = new int[count];
        int[] previous = new int[count];
        Arrays.setAll(next, index -> index + 1);
        Arrays.setAll(previous, index -> index - 1);
        PriorityQueue<Candidate> queue = new PriorityQueue<>();
        for (int index = 0; index + 1 < count; index++) {
            offer(queue, ids, index, index + 1);
        }
        while (true) {
            Candidate candidate = queue.poll();
            if (candidate == null) {
                break;
            }
            int left = candidate.left;
            int right = next[left];
            if (ids[left] != candidate.leftId || right >= count || ids[right] != candidate.rightId) {
                continue;
            }
            ids[left] = (int) candidate.result;
            ids[right] = -1;
            next[left] = next[right];
            if (next[left] < count) {
                previous[next[left]] = left;
                offer(queue, ids, left, next[left]);
            }
            if (previous[left] >= 0) {
                offer(queue, ids, previous[left], left);
            }
        }
        for (int index = 0; index < count; index = next[index]) {
            out.add(ids[index]);
        }
    }

    private void offer(PriorityQueue<Candidate> queue, int[] ids, int left, int right) {
        long result = merges.find(ids[left], ids[right]);
        if (result != MergeTable.NONE) {
            queue.add(new Candidate(result, left, ids[left], ids[right]));
        }
    }
}
