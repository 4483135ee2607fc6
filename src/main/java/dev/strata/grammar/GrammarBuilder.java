package dev.strata.grammar;

import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/** Builds an {@link Automaton} node by node. Methods that take a node and return one append something between the two. */
final class GrammarBuilder {
    private static final int MOST_NODES = 400_000;

    private final IntLists ranges = new IntLists();
    private final IntLists empty = new IntLists();
    private final IntLists calls = new IntLists();
    private final BitSet ends = new BitSet();
    /** Rules for one character of a JSON string, by the characters and whether they may be written as escapes. */
    private final Map<StringRules.Letter, Integer> letters = new HashMap<>();

    /** Rules for one character of a set. */
    private final Map<CodePointSet, Integer> sets = new HashMap<>();

    /** Those letters that whole classes of characters tell, by their rules. */
    private final Map<Integer, LetterClasses> classes = new HashMap<>();

    /** A range of bytes from a node. */
    private record Way(int from, int first, int last) {}

    int node() {
        if (ranges.count() >= MOST_NODES) {
            throw new GrammarException("the schema or grammar is too large: it would need more than " + MOST_NODES
                    + " places (\"enum\", \"properties\", \"maxItems\", \"maxLength\" or repetitions)");
        }
        ranges.list();
        empty.list();
        calls.list();
        return ranges.count() - 1;
    }

    void empty(int from, int to) {
        empty.add(from, to);
    }

    void end(int node) {
        ends.set(node);
    }

    /** Calls the rule that begins at {@code rule}. */
    int call(int from, int rule) {
        int to = node();
        call(from, rule, to);
        return to;
    }

    void call(int from, int rule, int to) {
        calls.add(from, rule, to);
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

    /** One of several texts; those that begin alike share the way. */
    int words(int from, Iterable<String> words) {
        int to = node();
        int start = node();
        empty(from, start);
        Map<Way, Integer> ways = new HashMap<>();
        for (String word : words) {
            int at = start;
            for (byte value : word.getBytes(StandardCharsets.UTF_8)) {
                at = shared(ways, at, value & 0xFF, value & 0xFF);
            }
            empty(at, to);
        }
        return to;
    }

    /** One character of the set. */
    int characters(int from, CodePointSet set) {
        int to = node();
        characters(from, set, to);
        return to;
    }

    void characters(int from, CodePointSet set, int to) {
        // Sequences that begin alike share the way, so that most states stay one stack.
        Map<Way, Integer> ways = new HashMap<>();
        for (int[] sequence : Utf8Bytes.sequences(set)) {
            int at = from;
            for (int index = 0; index < sequence.length; index += 2) {
                if (index + 2 == sequence.length) {
                    range(at, sequence[index], sequence[index + 1], to);
                    break;
                }
                at = shared(ways, at, sequence[index], sequence[index + 1]);
            }
        }
    }

    /** The node behind a range of bytes, made when it is the first such range from the node. */
    private int shared(Map<Way, Integer> ways, int from, int first, int last) {
        return ways.computeIfAbsent(new Way(from, first, last), way -> {
            int next = node();
            range(from, first, last, next);
            return next;
        });
    }

    /** One character of a JSON string as the letter says. */
    void letter(int from, StringRules.Letter letter, int to) {
        Integer rule = letters.get(letter);
        if (rule == null) {
            rule = node();
            letters.put(letter, rule);
            int end = node();
            end(end);
            StringRules.append(this, rule, letter, end);
            LetterClasses known = LetterClasses.of(letter);
            if (known != null) {
                classes.put(rule, known);
            }
        }
        call(from, rule, to);
    }

    /** One character of the set, by a rule of its own that all places with this set share. */
    void sharedCharacters(int from, CodePointSet set, int to) {
        Integer rule = sets.get(set);
        if (rule == null) {
            rule = node();
            sets.put(set, rule);
            end(characters(rule, set));
        }
        call(from, rule, to);
    }

    private void range(int from, int first, int last, int to) {
        ranges.add(from, first, last, to);
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
                if (most == least) {
                    yield at;
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

    /** @throws GrammarException when nothing can be written from {@code start}, or a rule calls itself before it reads anything */
    Automaton build(int start) {
        boolean[] endings = new boolean[ranges.count()];
        ends.stream().forEach(node -> endings[node] = true);
        return Soundness.check(new Automaton(start, ranges.lists(), empty.lists(), calls.lists(), endings, classes));
    }
}
