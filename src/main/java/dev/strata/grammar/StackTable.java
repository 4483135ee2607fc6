package dev.strata.grammar;

import java.util.Arrays;

/**
 * The stacks of a machine, each a node and the stack to go on with when the node's rule ends. Equal stacks have one number. Beside them the list of stacks
 * that one step of the machine still has to look at.
 */
final class StackTable {
    /** No stack. */
    static final int NONE = -1;

    /** With more stacks at once every step is slow. */
    private static final int MOST_STACKS = 10_000;

    private static final long MIX = 0x9E3779B97F4A7C15L;

    private int[] nodes = new int[64];
    private int[] belows = new int[64];
    /** In which step a stack was visited last. */
    private int[] visits = new int[64];

    private int count;
    /** Open addressing: number of a stack plus one, 0 where there is none; twice as large as the lists at least. */
    private int[] table = new int[256];

    private int step;
    private int seen;
    private int[] open = new int[64];
    private int openCount;

    /** How many stacks have been made. */
    int size() {
        return count;
    }

    int node(int stack) {
        return nodes[stack];
    }

    int below(int stack) {
        return belows[stack];
    }

    /** @param below {@link #NONE} when nothing follows */
    int stack(int node, int below) {
        int at = place(node, below);
        while (table[at] != 0) {
            int stack = table[at] - 1;
            if (nodes[stack] == node && belows[stack] == below) {
                return stack;
            }
            at = (at + 1) & (table.length - 1);
        }
        if (count == nodes.length) {
            grow();
            return stack(node, below);
        }
        nodes[count] = node;
        belows[count] = below;
        table[at] = ++count;
        return count - 1;
    }

    private int place(int node, int below) {
        return (int) (((long) below << 32 ^ node) * MIX >>> 40) & (table.length - 1);
    }

    private void grow() {
        int size = 2 * count;
        nodes = Arrays.copyOf(nodes, size);
        belows = Arrays.copyOf(belows, size);
        visits = Arrays.copyOf(visits, size);
        table = new int[4 * size];
        for (int stack = 0; stack < count; stack++) {
            int at = place(nodes[stack], belows[stack]);
            while (table[at] != 0) {
                at = (at + 1) & (table.length - 1);
            }
            table[at] = stack + 1;
        }
    }

    /** Begins a step: nothing is visited. */
    void begin() {
        step++;
        seen = 0;
        openCount = 0;
    }

    /** Puts a stack on the list unless it was there in this step. */
    void visit(int stack) {
        if (visits[stack] == step) {
            return;
        }
        visits[stack] = step;
        if (++seen > MOST_STACKS) {
            throw new GrammarException("more than " + MOST_STACKS
                    + " rules could go on at one place (\"pattern\", \"anyOf\", \"properties\" or rules that overlap)");
        }
        if (openCount == open.length) {
            open = Arrays.copyOf(open, 2 * openCount);
        }
        open[openCount++] = stack;
    }

    /** Takes a stack from the list; {@link #NONE} when it is empty. */
    int next() {
        return openCount == 0 ? NONE : open[--openCount];
    }
}
