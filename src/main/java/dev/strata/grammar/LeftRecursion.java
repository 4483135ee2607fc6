package dev.strata.grammar;

/**
 * Looks for a way that comes back to where it began without reading a byte, deeper in calls than before: a machine would follow it for ever.
 * Such a way lies within one strongly connected component of the steps that read nothing (Tarjan's algorithm, without recursion).
 */
final class LeftRecursion {
    private final Automaton automaton;
    private final boolean[] nullable;
    /** Order in which nodes were met, from 1; 0: not yet. */
    private final int[] order;

    private final int[] low;
    /** Number of a node's component, 0 as long as it is open. */
    private final int[] component;

    private final int[] path;
    private final int[] branch;
    private final int[] open;
    private int met;
    private int components;
    private int openCount;

    LeftRecursion(Automaton automaton, boolean[] nullable) {
        this.automaton = automaton;
        this.nullable = nullable;
        int size = automaton.size();
        order = new int[size];
        low = new int[size];
        component = new int[size];
        path = new int[size];
        branch = new int[size];
        open = new int[size];
    }

    boolean isFound() {
        for (int node = 0; node < order.length; node++) {
            if (order[node] == 0) {
                search(node);
            }
        }
        for (int node = 0; node < order.length; node++) {
            int[] calls = automaton.calls()[node];
            for (int index = 0; index < calls.length; index += 2) {
                if (component[node] == component[calls[index]] && !automaton.isBareEnd(calls[index + 1])) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The next step that reads nothing, by number; -1 behind the last one. */
    private int next(int node, int number) {
        int[] empty = automaton.empty()[node];
        if (number < empty.length) {
            return empty[number];
        }
        int[] calls = automaton.calls()[node];
        int call = number - empty.length;
        if (call >= calls.length) {
            return -1;
        }
        // Behind a rule that may be empty the way goes on; otherwise the node stands for itself, which changes nothing.
        return call % 2 == 0 || nullable[calls[call - 1]] ? calls[call] : node;
    }

    private void search(int root) {
        int depth = 0;
        enter(root, depth);
        while (depth >= 0) {
            int node = path[depth];
            int target = next(node, branch[depth]++);
            if (target < 0) {
                leave(node);
                depth--;
                if (depth >= 0) {
                    low[path[depth]] = Math.min(low[path[depth]], low[node]);
                }
            } else if (order[target] == 0) {
                enter(target, ++depth);
            } else if (component[target] == 0) {
                low[node] = Math.min(low[node], order[target]);
            }
        }
    }

    private void enter(int node, int depth) {
        order[node] = ++met;
        low[node] = met;
        open[openCount++] = node;
        path[depth] = node;
        branch[depth] = 0;
    }

    private void leave(int node) {
        if (low[node] != order[node]) {
            return;
        }
        components++;
        int member;
        do {
            member = open[--openCount];
            component[member] = components;
        } while (member != node);
    }
}
