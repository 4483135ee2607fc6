package dev.strata.grammar;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A non-deterministic automaton over code points: which strings a JSON string may stand for. Node 0 is the start. */
final class TextAutomaton {
    private static final int MOST_NODES = 100_000;

    /** @param set null would be an empty step; those are kept apart */
    record Edge(CodePointSet set, int to) {}

    private final List<List<Edge>> edges = new ArrayList<>();
    private final List<List<Integer>> empty = new ArrayList<>();
    private int accept;

    private TextAutomaton() {
        node();
    }

    int size() {
        return edges.size();
    }

    List<Edge> edges(int node) {
        return edges.get(node);
    }

    List<Integer> emptySteps(int node) {
        return empty.get(node);
    }

    int accept() {
        return accept;
    }

    private int node() {
        if (edges.size() >= MOST_NODES) {
            throw new GrammarException(
                    "the rules of a string (\"pattern\", \"minLength\", \"maxLength\") are too large together");
        }
        edges.add(new ArrayList<>());
        empty.add(new ArrayList<>());
        return edges.size() - 1;
    }

    static TextAutomaton of(Pattern pattern) {
        TextAutomaton automaton = new TextAutomaton();
        automaton.accept = automaton.append(0, pattern);
        return automaton;
    }

    /** Any string of {@code least} to {@code most} characters; most -1: without limit. */
    static TextAutomaton length(int least, int most) {
        return of(new Pattern.Repeat(new Pattern.Characters(CodePointSet.ALL), least, most));
    }

    /** Any string but these, and none that begins with characters beyond those that JSON writes as they are. */
    static TextAutomaton except(List<String> words) {
        TextAutomaton automaton = new TextAutomaton();
        automaton.accept = automaton.node();
        int free = automaton.node();
        automaton.edges.get(free).add(new Edge(CodePointSet.ALL, free));
        automaton.empty.get(free).add(automaton.accept);
        // A tree of the words; beside it every other character leads to freedom.
        List<Map<Integer, Integer>> ways = new ArrayList<>();
        Set<Integer> excluded = new HashSet<>();
        for (String word : words) {
            int node = 0;
            for (int point : word.codePoints().toArray()) {
                node = automaton.way(ways, node, point);
            }
            excluded.add(node);
        }
        for (int node = 0; node < automaton.size(); node++) {
            if (node == free || node == automaton.accept) {
                continue;
            }
            List<CodePointSet> taken = new ArrayList<>();
            automaton.edges.get(node).forEach(edge -> taken.add(edge.set));
            automaton.edges.get(node).add(new Edge(CodePointSet.union(taken).complement(), free));
            if (!excluded.contains(node)) {
                automaton.empty.get(node).add(automaton.accept);
            }
        }
        return automaton;
    }

    private int way(List<Map<Integer, Integer>> ways, int from, int point) {
        while (ways.size() <= from) {
            ways.add(new HashMap<>());
        }
        return ways.get(from).computeIfAbsent(point, next -> step(from, CodePointSet.range(next, next)));
    }

    private int append(int from, Pattern pattern) {
        return switch (pattern) {
            case Pattern.Characters(CodePointSet set) -> step(from, set);
            case Pattern.Text(String text) -> {
                int at = from;
                for (int point : text.codePoints().toArray()) {
                    at = step(at, CodePointSet.range(point, point));
                }
                yield at;
            }
            case Pattern.Sequence(List<Pattern> parts) -> {
                int at = from;
                for (Pattern part : parts) {
                    at = append(at, part);
                }
                yield at;
            }
            case Pattern.Choice(List<Pattern> options) -> {
                int to = node();
                for (Pattern option : options) {
                    int start = node();
                    empty.get(from).add(start);
                    empty.get(append(start, option)).add(to);
                }
                yield to;
            }
            case Pattern.Repeat(Pattern part, int least, int most) -> {
                int at = from;
                for (int count = 0; count < least; count++) {
                    at = append(at, part);
                }
                if (most < 0) {
                    int loop = node();
                    empty.get(at).add(loop);
                    empty.get(append(loop, part)).add(loop);
                    yield loop;
                }
                if (most == least) {
                    yield at;
                }
                int to = node();
                for (int count = least; count < most; count++) {
                    empty.get(at).add(to);
                    at = append(at, part);
                }
                empty.get(at).add(to);
                yield to;
            }
            case Pattern.Rule(String name) -> throw new GrammarException("no rule " + name + " in an expression");
        };
    }

    private int step(int from, CodePointSet set) {
        int to = node();
        edges.get(from).add(new Edge(set, to));
        return to;
    }

    /** The strings that both accept. */
    TextAutomaton intersection(TextAutomaton other) {
        TextAutomaton both = new TextAutomaton();
        Map<Long, Integer> nodes = new HashMap<>();
        Deque<long[]> open = new ArrayDeque<>();
        nodes.put(0L, 0);
        open.add(new long[] {0, 0});
        both.accept = both.pair(accept, other.accept, nodes, open);
        while (!open.isEmpty()) {
            long[] pair = open.remove();
            int mine = (int) pair[0];
            int theirs = (int) pair[1];
            int from = nodes.getOrDefault((long) mine << 32 | theirs, 0);
            for (int next : empty.get(mine)) {
                both.empty.get(from).add(both.pair(next, theirs, nodes, open));
            }
            for (int next : other.empty.get(theirs)) {
                both.empty.get(from).add(both.pair(mine, next, nodes, open));
            }
            for (Edge edge : edges.get(mine)) {
                for (Edge second : other.edges.get(theirs)) {
                    CodePointSet common = edge.set.intersection(second.set);
                    if (!common.isEmpty()) {
                        both.edges.get(from).add(new Edge(common, both.pair(edge.to, second.to, nodes, open)));
                    }
                }
            }
        }
        both.dropDeadEnds();
        return both;
    }

    /** Takes away steps after which nothing is accepted any more: a text must never be led there. */
    private void dropDeadEnds() {
        List<List<Integer>> back = new ArrayList<>();
        edges.forEach(ignored -> back.add(new ArrayList<>()));
        for (int node = 0; node < size(); node++) {
            for (Edge edge : edges.get(node)) {
                back.get(edge.to).add(node);
            }
            for (int to : empty.get(node)) {
                back.get(to).add(node);
            }
        }
        boolean[] alive = new boolean[size()];
        Deque<Integer> open = new ArrayDeque<>(List.of(accept));
        alive[accept] = true;
        while (!open.isEmpty()) {
            for (int from : back.get(open.remove())) {
                if (!alive[from]) {
                    alive[from] = true;
                    open.add(from);
                }
            }
        }
        edges.forEach(list -> list.removeIf(edge -> !alive[edge.to]));
        empty.forEach(list -> list.removeIf(to -> !alive[to]));
    }

    private int pair(int mine, int theirs, Map<Long, Integer> nodes, Deque<long[]> open) {
        long key = (long) mine << 32 | theirs;
        Integer known = nodes.get(key);
        if (known != null) {
            return known;
        }
        int node = node();
        nodes.put(key, node);
        open.add(new long[] {mine, theirs});
        return node;
    }

    /** Whether any string is accepted. */
    boolean isPossible() {
        boolean[] seen = new boolean[size()];
        Deque<Integer> open = new ArrayDeque<>(List.of(0));
        seen[0] = true;
        while (!open.isEmpty()) {
            int node = open.remove();
            if (node == accept) {
                return true;
            }
            List<Integer> next = new ArrayList<>(empty.get(node));
            edges.get(node).forEach(edge -> next.add(edge.to));
            for (int to : next) {
                if (!seen[to]) {
                    seen[to] = true;
                    open.add(to);
                }
            }
        }
        return false;
    }
}
