package dev.strata.grammar;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/** Builds an {@link Automaton} node by node. Methods that take a node and return one append something between the two. */
final class GrammarBuilder {
    private static final int MOST_NODES = 400_000;

    private final List<List<int[]>> ranges = new ArrayList<>();
    private final List<List<Integer>> empty = new ArrayList<>();
    private final List<List<int[]>> calls = new ArrayList<>();
    private final List<Boolean> ends = new ArrayList<>();
    private final List<Integer> plainTargets = new ArrayList<>();
    private final List<Boolean> free = new ArrayList<>();
    /** For each target the nodes behind the first bytes of longer plain characters. */
    private final Map<Integer, List<int[]>> plainRanges = new HashMap<>();

    int node() {
        if (ranges.size() >= MOST_NODES) {
            throw new GrammarException("the schema or grammar is too large");
        }
        ranges.add(new ArrayList<>());
        empty.add(new ArrayList<>());
        calls.add(new ArrayList<>());
        ends.add(false);
        plainTargets.add(-1);
        free.add(false);
        return ranges.size() - 1;
    }

    void empty(int from, int to) {
        empty.get(from).add(to);
    }

    void end(int node) {
        ends.set(node, true);
    }

    /** Calls the rule that begins at {@code rule}. */
    int call(int from, int rule) {
        int to = node();
        calls.get(from).add(new int[] {rule, to});
        return to;
    }

    int literal(int from, String text) {
        int at = from;
        for (byte value : text.getBytes(StandardCharsets.UTF_8)) {
            int next = node();
            range(at, value & 0xFF, value & 0xFF, next);
            at = next;
        }
        return at;
    }

    /** One character of the set. */
    int characters(int from, CodePointSet set) {
        int to = node();
        characters(from, set, to);
        return to;
    }

    void characters(int from, CodePointSet set, int to) {
        for (int[] sequence : Utf8Bytes.sequences(set)) {
            int at = from;
            for (int index = 0; index < sequence.length; index += 2) {
                int next = index + 2 == sequence.length ? to : node();
                range(at, sequence[index], sequence[index + 1], next);
                at = next;
            }
        }
    }

    /**
     * Any plain character, from a node that has nothing else on plain characters. Masks are made much faster from such nodes.
     */
    void plain(int from, int to) {
        List<int[]> first = plainRanges.get(to);
        if (first == null) {
            int collector = node();
            characters(collector, Utf8Bytes.PLAIN, to);
            first = List.copyOf(ranges.get(collector));
            plainRanges.put(to, first);
        }
        if (ranges.get(from).stream().anyMatch(range -> range[1] >= 0x20 && range[0] != '"' && range[0] != '\\')) {
            throw new IllegalStateException("plain characters have another way already");
        }
        ranges.get(from).addAll(first);
        plainTargets.set(from, to);
    }

    /** Says that a node with {@link #plain} characters takes all escapes to the same target too. */
    void free(int node) {
        free.set(node, true);
    }

    private void range(int from, int first, int last, int to) {
        if (plainTargets.get(from) >= 0 && last >= 0x20 && first != '"' && first != '\\') {
            plainTargets.set(from, -1);
            free.set(from, false);
        }
        ranges.get(from).add(new int[] {first, last, to});
    }

    /** The rest of several ways: each function appends one of them. */
    int choice(int from, List<ToIntFunction<Integer>> options) {
        int to = node();
        for (ToIntFunction<Integer> option : options) {
            int start = node();
            empty(from, start);
            empty(option.applyAsInt(start), to);
        }
        return to;
    }

    /** Appends a pattern whose characters stand for themselves. */
    int pattern(int from, Pattern pattern, Map<String, Integer> rules) {
        return switch (pattern) {
            case Pattern.Characters(CodePointSet set) -> characters(from, set);
            case Pattern.Text(String text) -> literal(from, text);
            case Pattern.Sequence(List<Pattern> parts) -> {
                int at = from;
                for (Pattern part : parts) {
                    at = pattern(at, part, rules);
                }
                yield at;
            }
            case Pattern.Choice(List<Pattern> options) -> {
                int to = node();
                for (Pattern option : options) {
                    int start = node();
                    empty(from, start);
                    empty(pattern(start, option, rules), to);
                }
                yield to;
            }
            case Pattern.Repeat(Pattern part, int least, int most) -> {
                int at = from;
                for (int count = 0; count < least; count++) {
                    at = pattern(at, part, rules);
                }
                if (most < 0) {
                    int loop = node();
                    empty(at, loop);
                    empty(pattern(loop, part, rules), loop);
                    int to = node();
                    empty(loop, to);
                    yield to;
                }
                int to = node();
                for (int count = least; count < most; count++) {
                    empty(at, to);
                    at = pattern(at, part, rules);
                }
                empty(at, to);
                yield to;
            }
            case Pattern.Rule(String name) -> {
                Integer rule = rules.get(name);
                if (rule == null) {
                    throw new GrammarException("the rule \"" + name + "\" is used but not defined");
                }
                yield call(from, rule);
            }
        };
    }

    Automaton build(int start) {
        int size = ranges.size();
        int[][] rangeTable = new int[size][];
        int[][] emptyTable = new int[size][];
        int[][] callTable = new int[size][];
        boolean[] endTable = new boolean[size];
        boolean[] freeTable = new boolean[size];
        int[] plainTable = new int[size];
        for (int node = 0; node < size; node++) {
            rangeTable[node] = flat(ranges.get(node));
            emptyTable[node] =
                    empty.get(node).stream().mapToInt(target -> target).toArray();
            callTable[node] = flat(calls.get(node));
            endTable[node] = ends.get(node);
            freeTable[node] = free.get(node);
            plainTable[node] = plainTargets.get(node);
        }
        return new Automaton(start, rangeTable, emptyTable, callTable, endTable, freeTable, plainTable);
    }

    private static int[] flat(List<int[]> rows) {
        return rows.stream().flatMapToInt(java.util.Arrays::stream).toArray();
    }
}
