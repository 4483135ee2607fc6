package dev.strata.grammar;

import java.util.Map;

/**
 * A pushdown automaton over bytes. A node has steps over ranges of bytes, empty steps, and calls of rules (go to the rule's start, come back
 * to a node after the rule's end).
 *
 * @param ranges for each node first byte, last byte and target in turn
 * @param empty for each node the targets of empty steps
 * @param calls for each node the rule's start and the node to return to in turn
 * @param ends whether a rule, or the whole, ends at the node
 * @param letters starts of the rules for one character of a JSON string, escapes included
 */
record Automaton(
        int start, int[][] ranges, int[][] empty, int[][] calls, boolean[] ends, Map<Integer, LetterClasses> letters) {
    int size() {
        return ranges.length;
    }

    /** Whether there is nothing at the node but the end of its rule. */
    boolean isBareEnd(int node) {
        return ends[node] && ranges[node].length == 0 && empty[node].length == 0 && calls[node].length == 0;
    }
}
