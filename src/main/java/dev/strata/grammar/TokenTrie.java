package dev.strata.grammar;

import java.util.Arrays;
import java.util.List;

/** Byte strings of tokens as a tree in preorder, so that a walk goes through memory in one direction and skips what is forbidden. */
final class TokenTrie {
    /** @param bytes not empty */
    record Entry(byte[] bytes, int token) {}

    /** Fewer nodes are looked at one by one. */
    private static final int WIDE = 12;

    private final byte[] label;
    private final short[] depth;
    /** The next node that is not below this one. */
    private final int[] skip;
    /** Tokens of node n: {@code tokens[first[n]] .. tokens[first[n + 1] - 1]}. */
    private final int[] first;

    private final int[] tokens;
    /** Classes of {@link Characters} that begin from the node on, two words. */
    private final long[] low;

    private final long[] high;
    /** The most characters of a token from the node on. */
    private final short[] height;

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
        low = new long[nodes];
        high = new long[nodes];
        height = new short[nodes];
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
            classify(bytes, path);
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

    /** Notes a token's characters along its path. */
    private void classify(byte[] bytes, int[] path) {
        int whole = 0;
        while (whole < bytes.length) {
            int length = Characters.length(bytes, whole);
            if (length == 0) {
                break;
            }
            whole += length;
        }
        long lowBits = 0;
        long highBits = 0;
        int characters = 0;
        for (int level = bytes.length - 1; level >= 0; level--) {
            int node = path[level];
            if (level < whole && (bytes[level] & 0xC0) == 0x80) {
                low[node] |= lowBits;
                high[node] |= highBits;
                height[node] = (short) Math.max(height[node], characters);
                continue;
            }
            int kind = level < whole ? Characters.classOf(bytes[level] & 0xFF) : Characters.MALFORMED;
            if (kind < 64) {
                lowBits |= 1L << kind;
            } else {
                highBits |= 1L << kind;
            }
            low[node] |= lowBits;
            high[node] |= highBits;
            height[node] = (short) Math.max(height[node], ++characters);
        }
    }

    /**
     * Sets the bits of all tokens that can be read from {@code start}, apart from those that hold only characters of {@code roaming}, and no more
     * of them than can be read for certain: they are known already.
     */
    void collect(GrammarMachine machine, GrammarMachine.State start, Roaming roaming, long[] mask) {
        GrammarMachine.State[] states = new GrammarMachine.State[deepest + 1];
        // How many characters are left of the run; negative off its way.
        int[] left = new int[deepest + 1];
        states[0] = start;
        left[0] = roaming.run() == 0 ? -1 : roaming.run();
        int node = 0;
        while (node < label.length) {
            int level = depth[node];
            GrammarMachine.State state = states[level];
            if (left[level] >= 0) {
                if ((roaming.ends() || height[node] <= left[level]) && roaming.containsAll(low[node], high[node])) {
                    node = skip[node];
                    continue;
                }
            } else if (skip[node] - node >= WIDE) {
                Roaming here = machine.roaming(state);
                if (height[node] <= here.run() && here.containsAll(low[node], high[node])) {
                    add(node, skip[node], mask);
                    node = skip[node];
                    continue;
                }
            }
            GrammarMachine.State next = machine.step(state, label[node] & 0xFF);
            if (next.isDead()) {
                node = skip[node];
                continue;
            }
            states[level + 1] = next;
            left[level + 1] = left[level] < 0 ? -1 : leftBehind(roaming, left[level], label[node]);
            add(node, node + 1, mask);
            node++;
        }
    }

    /** How much of the run is left behind one more byte. */
    private static int leftBehind(Roaming roaming, int left, byte value) {
        if ((value & 0xC0) == 0x80) {
            return left;
        }
        if (!roaming.contains(Characters.classOf(value & 0xFF))) {
            return -1;
        }
        return left == Roaming.ENDLESS ? left : left - 1;
    }

    /** Adds the tokens of the nodes from {@code node} up to {@code to}. */
    private void add(int node, int to, long[] mask) {
        for (int index = first[node]; index < first[to]; index++) {
            int token = tokens[index];
            mask[token >> 6] |= 1L << token;
        }
    }

    int size() {
        return label.length;
    }
}
