package dev.strata.grammar;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Byte strings of tokens as a tree in preorder, so that a walk goes through memory in one direction and skips what is forbidden. */
final class TokenTrie {
    /** @param bytes not empty */
    record Entry(byte[] bytes, int token) {}

    /** Fewer nodes are looked at one by one. */
    private static final int WIDE = 12;

    /**
     * Four words a node, so that a node is one line of the cache: classes of {@link Characters} that begin from the node on (two words); the next
     * node that is not below this one, and the first of its tokens; depth, the most characters of a token from the node on, and the byte.
     * Tokens of node n: those from its first to the first of node n + 1.
     */
    private final long[] nodes;

    private final int size;
    /** The node of each first byte; -1: no token begins with it. */
    private final int[] roots = new int[256];

    private final int[] tokens;
    private final int deepest;

    TokenTrie(List<Entry> entries) {
        Entry[] sorted = entries.toArray(Entry[]::new);
        Arrays.sort(sorted, (left, right) -> Arrays.compareUnsigned(left.bytes, right.bytes));
        int count = 0;
        byte[] before = new byte[0];
        for (Entry entry : sorted) {
            int mismatch = Arrays.mismatch(before, entry.bytes);
            count += mismatch < 0 ? 0 : entry.bytes.length - mismatch;
            before = entry.bytes;
        }
        size = count;
        nodes = new long[4 * (count + 1)];
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
                nodes[4 * path[level] + 2] |= (long) node << 32;
            }
            for (int level = from; level < bytes.length; level++) {
                // Inner nodes made for a longer token hold none of their own: their tokens begin where those of the
                // node below do.
                nodes[4 * node + 2] = index;
                nodes[4 * node + 3] = (long) level << 32 | bytes[level] & 0xFF;
                path[level] = node++;
            }
            tokens[index] = sorted[index].token;
            classify(bytes, path);
            before = bytes;
        }
        for (int level = 0; level < before.length; level++) {
            nodes[4 * path[level] + 2] |= (long) node << 32;
        }
        nodes[4 * node + 2] = sorted.length;
        Arrays.fill(roots, -1);
        for (int root = 0; root < size; root = skip(root)) {
            roots[label(4 * root)] = root;
        }
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
        ClassSet classes = ClassSet.NONE;
        int characters = 0;
        for (int level = bytes.length - 1; level >= 0; level--) {
            if (level >= whole || (bytes[level] & 0xC0) != 0x80) {
                int kind = level < whole ? Characters.classOf(bytes[level] & 0xFF) : Characters.MALFORMED;
                classes = classes.with(kind);
                characters++;
            }
            int at = 4 * path[level];
            nodes[at] |= classes.low();
            nodes[at + 1] |= classes.high();
            if (characters > height(at)) {
                nodes[at + 3] = nodes[at + 3] & ~0xFFFFFF00L | (long) characters << 8;
            }
        }
    }

    /**
     * Sets the bits of all tokens that can be read from {@code start}, apart from those that hold only characters of {@code fromStart}, and no more
     * of them than can be read for certain: they are known already. The same of {@code behindBlank} for the rest of tokens that begin with a blank.
     */
    void collect(
            GrammarMachine machine, GrammarMachine.State start, Roaming fromStart, Roaming behindBlank, long[] mask) {
        Walk walk = new Walk(machine, mask);
        walk.states[0] = start;
        for (int value = 0; value < roots.length; value++) {
            // The nodes of first bytes lie far apart, so those that cannot be read are not even looked at.
            if (roots[value] >= 0 && start.reads(value)) {
                boolean blank = value == ' ' && behindBlank.run() > 0;
                walk.from(roots[value], fromStart, blank ? behindBlank : null);
            }
        }
    }

    /** A walk through the tree. */
    private final class Walk {
        private final GrammarMachine machine;
        private final long[] mask;
        private final GrammarMachine.State[] states = new GrammarMachine.State[deepest + 1];
        /** How many characters are left of the run at each level; negative off its way. */
        private final int[] left = new int[deepest + 1];

        private Walk(GrammarMachine machine, long[] mask) {
            this.machine = machine;
            this.mask = mask;
        }

        private void from(int root, Roaming first, @Nullable Roaming behind) {
            int end = skip(root);
            int node = root;
            Roaming roaming = first;
            left[0] = first.run() == 0 ? -1 : first.run();
            while (node < end) {
                int at = 4 * node;
                int level = (int) (nodes[at + 3] >>> 32);
                if (isKnown(node, level, roaming)) {
                    node = skip(node);
                    continue;
                }
                int label = label(at);
                GrammarMachine.State next = machine.step(states[level], label);
                if (next.isDead()) {
                    node = skip(node);
                    continue;
                }
                states[level + 1] = next;
                if (level == 0 && behind != null) {
                    roaming = behind;
                    left[1] = behind.run();
                } else {
                    left[level + 1] = left[level] < 0 ? -1 : leftBehind(roaming, left[level], (byte) label);
                }
                add(node, node + 1, mask);
                node++;
            }
        }

        /** Whether all tokens from the node on are in the mask, or known not to be. */
        private boolean isKnown(int node, int level, Roaming roaming) {
            int at = 4 * node;
            if (left[level] >= 0) {
                return (roaming.ends() || height(at) <= left[level]) && roaming.decides(classes(at));
            }
            if (skip(node) - node < WIDE) {
                return false;
            }
            Roaming here = machine.roaming(states[level]);
            // Inside of a character nothing roams, and the node may hold no beginning of another one.
            if (here.run() == 0 || height(at) > here.run() || !here.classes().containsAll(classes(at))) {
                return false;
            }
            add(node, skip(node), mask);
            return true;
        }
    }

    private int skip(int node) {
        return (int) (nodes[4 * node + 2] >>> 32);
    }

    private ClassSet classes(int at) {
        return new ClassSet(nodes[at], nodes[at + 1]);
    }

    private int label(int at) {
        return (int) nodes[at + 3] & 0xFF;
    }

    private int height(int at) {
        return (int) nodes[at + 3] >>> 8;
    }

    /** How much of the run is left behind one more byte. */
    private static int leftBehind(Roaming roaming, int left, byte value) {
        if ((value & 0xC0) == 0x80) {
            return left;
        }
        if (!roaming.classes().contains(Characters.classOf(value & 0xFF))) {
            return -1;
        }
        return left == Roaming.ENDLESS ? left : left - 1;
    }

    /** Adds the tokens of the nodes from {@code node} up to {@code to}. */
    private void add(int node, int to, long[] mask) {
        int end = (int) nodes[4 * to + 2];
        for (int index = (int) nodes[4 * node + 2]; index < end; index++) {
            int token = tokens[index];
            mask[token >> 6] |= 1L << token;
        }
    }
}
