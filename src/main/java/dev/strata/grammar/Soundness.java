package dev.strata.grammar;

import java.util.Arrays;

/**
 * Takes away what leads nowhere: steps and calls behind which no end can be reached, so that a text is never led there. Finds rules that call
 * themselves before they read anything.
 */
final class Soundness {
    private final Automaton automaton;
    /** Nodes from which the end of their rule can be reached. */
    private final boolean[] productive;
    /** Nodes from which the end of their rule can be reached without reading. */
    private final boolean[] nullable;

    private Soundness(Automaton automaton) {
        this.automaton = automaton;
        Predecessors predecessors = new Predecessors(automaton);
        productive = reaching(predecessors, true);
        nullable = reaching(predecessors, false);
    }

    /** @throws GrammarException when nothing can be written from the start, or at left recursion */
    static Automaton check(Automaton automaton) {
        Soundness soundness = new Soundness(automaton);
        if (!soundness.productive[automaton.start()]) {
            throw new GrammarException(
                    "nothing can satisfy the schema or grammar: what it requires contains itself (by \"$ref\", or a rule that always calls itself)");
        }
        Automaton pruned = soundness.pruned();
        if (new LeftRecursion(pruned, soundness.nullable).isFound()) {
            throw new GrammarException(
                    "a rule or \"$ref\" calls itself before it reads anything (left recursion), which is not supported");
        }
        return pruned;
    }

    /** For each node the nodes with a step to it, and the calls that need it. */
    private static final class Predecessors {
        private static final int READS = 0;
        private static final int EMPTY = 1;
        private static final int CALLS = 2;

        /** Predecessors of node n: {@code from[first[n]] .. from[first[n + 1] - 1]}, each three times the node and the kind of step. */
        private final int[] first;

        private final int[] from;

        Predecessors(Automaton automaton) {
            int size = automaton.size();
            int[] counts = new int[size + 1];
            visit(automaton, (source, target, kind) -> counts[target + 1]++);
            for (int node = 0; node < size; node++) {
                counts[node + 1] += counts[node];
            }
            first = counts;
            from = new int[first[size]];
            int[] at = Arrays.copyOf(first, size);
            visit(automaton, (source, target, kind) -> from[at[target]++] = 3 * source + kind);
        }

        private interface Visitor {
            void step(int source, int target, int kind);
        }

        private static void visit(Automaton automaton, Visitor visitor) {
            for (int node = 0; node < automaton.size(); node++) {
                int[] ranges = automaton.ranges()[node];
                for (int index = 2; index < ranges.length; index += 3) {
                    visitor.step(node, ranges[index], READS);
                }
                for (int target : automaton.empty()[node]) {
                    visitor.step(node, target, EMPTY);
                }
                for (int target : automaton.calls()[node]) {
                    visitor.step(node, target, CALLS);
                }
            }
        }
    }

    private boolean[] reaching(Predecessors predecessors, boolean reading) {
        int size = automaton.size();
        boolean[] reached = new boolean[size];
        int[] open = new int[size];
        int count = 0;
        for (int node = 0; node < size; node++) {
            if (automaton.ends()[node]) {
                reached[node] = true;
                open[count++] = node;
            }
        }
        while (count > 0) {
            int node = open[--count];
            for (int index = predecessors.first[node]; index < predecessors.first[node + 1]; index++) {
                int source = predecessors.from[index] / 3;
                boolean goes = switch (predecessors.from[index] % 3) {
                    case Predecessors.READS -> reading;
                    case Predecessors.EMPTY -> true;
                    default -> returns(source, reached);
                };
                if (goes && !reached[source]) {
                    reached[source] = true;
                    open[count++] = source;
                }
            }
        }
        return reached;
    }

    /** Whether the node has a call whose two halves are reached. */
    private boolean returns(int node, boolean[] reached) {
        int[] calls = automaton.calls()[node];
        for (int index = 0; index < calls.length; index += 2) {
            if (reached[calls[index]] && reached[calls[index + 1]]) {
                return true;
            }
        }
        return false;
    }

    private Automaton pruned() {
        int size = automaton.size();
        int[][] ranges = new int[size][];
        int[][] empty = new int[size][];
        int[][] calls = new int[size][];
        for (int node = 0; node < size; node++) {
            ranges[node] = kept(automaton.ranges()[node], 3, 2);
            empty[node] = kept(automaton.empty()[node], 1, 0);
            calls[node] = kept(kept(automaton.calls()[node], 2, 0), 2, 1);
        }
        return new Automaton(automaton.start(), ranges, empty, calls, automaton.ends(), automaton.letters());
    }

    /** The rows of {@code width} whose node at {@code place} is productive. */
    private int[] kept(int[] rows, int width, int place) {
        int count = 0;
        for (int row = 0; row < rows.length; row += width) {
            count += productive[rows[row + place]] ? 1 : 0;
        }
        if (count * width == rows.length) {
            return rows;
        }
        int[] kept = new int[count * width];
        int at = 0;
        for (int row = 0; row < rows.length; row += width) {
            if (productive[rows[row + place]]) {
                System.arraycopy(rows, row, kept, at, width);
                at += width;
            }
        }
        return kept;
    }
}
