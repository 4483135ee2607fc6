package dev.strata.grammar;

import java.util.Arrays;
import java.util.List;

/** Byte strings of tokens as a tree in preorder, so that a walk goes through memory in one direction and skips what is forbidden. */
final class TokenTrie {
    /** @param bytes not empty */
    record Entry(byte[] bytes, int token) {}

    private final byte[] label;
    private final short[] depth;
    /** The next node that is not below this one. */
    private final int[] skip;
    /** Tokens of node n: {@code tokens[first[n]] .. tokens[first[n + 1] - 1]}. */
    private final int[] first;

    private final int[] tokens;
    private final int deepest;

    TokenTrie(List<Entry> entries) {
        Entry[] sorted = entries.toArray(Entry[]::new);
        Arrays.sort(sorted, (left, right) -> Arrays.compareUnsigned(left.bytes, right.bytes));
        int nodes = 0;
        byte[] before = new byte[0];
        for (Entry entry : sorted) {
            int mismatch = Arrays.mismatch(before, entry.bytes);
            nodes += mismatch < 0 ? 0 : entry.bytes.length - mismatch;
            before = entry.bytes;
        }
        label = new byte[nodes];
        depth = new short[nodes];
        skip = new int[nodes];
        first = new int[nodes + 1];
        tokens = new int[sorted.length];
        deepest = fill(sorted);
    }

    private int fill(Entry[] sorted) {
        int longest = Arrays.stream(sorted)
                .mapToInt(entry -> entry.bytes.length)
                .max()
                .orElse(0);
        int[] path = new int[longest + 1];
        byte[] before = new byte[0];
        int node = 0;
        for (int index = 0; index < sorted.length; index++) {
            byte[] bytes = sorted[index].bytes;
            int mismatch = Arrays.mismatch(before, bytes);
            int from = mismatch < 0 ? bytes.length : mismatch;
            for (int level = from; level < before.length && mismatch >= 0; level++) {
                skip[path[level]] = node;
            }
            for (int level = from; level < bytes.length; level++) {
                label[node] = bytes[level];
                depth[node] = (short) level;
                first[node] = index;
                path[level] = node++;
            }
            tokens[index] = sorted[index].token;
            before = bytes;
        }
        for (int level = 0; level < before.length; level++) {
            skip[path[level]] = node;
        }
        first[node] = sorted.length;
        // Inner nodes made for a longer token hold none of their own: their tokens begin where those of the node below
        // do.
        return longest;
    }

    /** Sets the bits of all tokens that can be read from {@code start}. */
    void collect(GrammarMachine machine, GrammarMachine.State start, long[] mask) {
        GrammarMachine.State[] states = new GrammarMachine.State[deepest + 1];
        states[0] = start;
        int node = 0;
        while (node < label.length) {
            int level = depth[node];
            GrammarMachine.State next = machine.step(states[level], label[node] & 0xFF);
            if (next.isDead()) {
                node = skip[node];
                continue;
            }
            states[level + 1] = next;
            for (int index = first[node]; index < first[node + 1]; index++) {
                int token = tokens[index];
                mask[token >> 6] |= 1L << token;
            }
            node++;
        }
    }

    int size() {
        return label.length;
    }
}
