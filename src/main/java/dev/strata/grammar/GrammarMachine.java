package dev.strata.grammar;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Runs an {@link Automaton}. A state is the set of stacks it can be in; states, their steps and their token masks are made once and kept.
 * All calls hold the machine's lock, so that sequences with the same schema share one machine.
 */
final class GrammarMachine {
    /** Kept states; all are forgotten beyond that. */
    private static final int MOST_STATES = 20_000;

    private static final int MOST_MASKS = 1_000;

    /** A set of stacks, with what has been found out about it. */
    final class State {
        /** Numbers of stacks, in order. */
        private final int[] stacks;

        private final boolean accepting;
        private final @Nullable State[] next = new State[256];
        private @Nullable State plain;
        private boolean plainKnown;
        private long @Nullable [] mask;
        /** Which bytes can be read, one bit each. */
        private final long[] readable = new long[4];
        /** Tokens behind a closing quote; see {@link GrammarVocabulary}. */
        long @Nullable [] behindQuote;

        private State(int[] stacks, boolean accepting) {
            this.stacks = stacks;
            this.accepting = accepting;
            for (int stack : stacks) {
                long[] bytes = readable(table.node(stack));
                for (int word = 0; word < 4; word++) {
                    readable[word] |= bytes[word];
                }
            }
        }

        /** No text goes on from here, and none ends here. */
        boolean isDead() {
            return stacks.length == 0 && !accepting;
        }

        /** The text may end here. */
        boolean isAccepting() {
            return accepting;
        }

        /** The text must end here. */
        boolean isFinal() {
            return accepting && stacks.length == 0;
        }
    }

    private record StateKey(int[] stacks, boolean accepting) {
        @Override
        public boolean equals(Object other) {
            return other instanceof StateKey key && accepting == key.accepting && Arrays.equals(stacks, key.stacks);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(stacks) * 2 + (accepting ? 1 : 0);
        }
    }

    private final Automaton automaton;
    private final GrammarVocabulary vocabulary;
    private final StackTable table = new StackTable();
    private final Map<StateKey, State> states = new HashMap<>();
    /** For each node that was met the bytes that it reads, one bit each. */
    private final long[] @Nullable [] readable;

    private final State dead;
    private final State start;
    private int masks;

    GrammarMachine(Automaton automaton, GrammarVocabulary vocabulary) {
        this.automaton = automaton;
        this.vocabulary = vocabulary;
        this.readable = new long[automaton.ranges().length][];
        this.dead = new State(new int[0], false);
        table.begin();
        table.visit(table.stack(automaton.start(), StackTable.NONE));
        this.start = closure();
        if (start.isDead()) {
            throw new GrammarException("nothing can satisfy the schema or grammar");
        }
    }

    State start() {
        return start;
    }

    GrammarVocabulary vocabulary() {
        return vocabulary;
    }

    private long[] readable(int node) {
        long[] bytes = readable[node];
        if (bytes == null) {
            bytes = new long[4];
            int[] ranges = automaton.ranges()[node];
            for (int index = 0; index < ranges.length; index += 3) {
                for (int value = ranges[index]; value <= ranges[index + 1]; value++) {
                    bytes[value >> 6] |= 1L << value;
                }
            }
            readable[node] = bytes;
        }
        return bytes;
    }

    /** Follows empty steps, calls and ends of rules from the stacks that were visited since the table's beginning. */
    private State closure() {
        boolean accepting = false;
        int[] readers = new int[8];
        int count = 0;
        for (int stack = table.next(); stack != StackTable.NONE; stack = table.next()) {
            int node = table.node(stack);
            int below = table.below(stack);
            if (automaton.ranges()[node].length > 0) {
                if (count == readers.length) {
                    readers = Arrays.copyOf(readers, 2 * count);
                }
                readers[count++] = stack;
            }
            for (int target : automaton.empty()[node]) {
                table.visit(table.stack(target, below));
            }
            int[] calls = automaton.calls()[node];
            for (int index = 0; index < calls.length; index += 2) {
                // A call with nothing behind it needs no stack of its own: lists written with recursion stay flat.
                int under = automaton.isBareEnd(calls[index + 1]) ? below : table.stack(calls[index + 1], below);
                table.visit(table.stack(calls[index], under));
            }
            if (automaton.ends()[node]) {
                if (below == StackTable.NONE) {
                    accepting = true;
                } else {
                    table.visit(below);
                }
            }
        }
        return count == 0 && !accepting ? dead : intern(Arrays.copyOf(readers, count), accepting);
    }

    private State intern(int[] readers, boolean accepting) {
        Arrays.sort(readers);
        StateKey key = new StateKey(readers, accepting);
        State known = states.get(key);
        if (known == null) {
            known = new State(readers, accepting);
            states.put(key, known);
        }
        return known;
    }

    /** The state behind one more byte. */
    State step(State state, int value) {
        if ((state.readable[value >> 6] >>> value & 1) == 0) {
            return dead;
        }
        State known = state.next[value];
        if (known != null) {
            return known;
        }
        table.begin();
        for (int stack : state.stacks) {
            int[] ranges = automaton.ranges()[table.node(stack)];
            for (int index = 0; index < ranges.length; index += 3) {
                if (value >= ranges[index] && value <= ranges[index + 1]) {
                    table.visit(table.stack(ranges[index + 2], table.below(stack)));
                }
            }
        }
        State next = closure();
        state.next[value] = next;
        return next;
    }

    /** The state behind any plain character, when it is the same for all of them. */
    @Nullable
    State plainStep(State state) {
        if (!state.plainKnown) {
            state.plainKnown = true;
            state.plain = plainTarget(state);
        }
        return state.plain;
    }

    /** Whether the state is inside a string of any characters: everything but the closing quote leads to {@link #plainStep}. */
    boolean isFree(State state) {
        for (int stack : state.stacks) {
            int node = table.node(stack);
            if (!automaton.free()[node] && !readsQuoteOnly(automaton.ranges()[node])) {
                return false;
            }
        }
        return state.stacks.length > 0;
    }

    private static boolean readsQuoteOnly(int[] ranges) {
        for (int index = 0; index < ranges.length; index += 3) {
            if (ranges[index] != '"' || ranges[index + 1] != '"') {
                return false;
            }
        }
        return true;
    }

    private @Nullable State plainTarget(State state) {
        table.begin();
        boolean any = false;
        for (int stack : state.stacks) {
            int node = table.node(stack);
            int target = automaton.plainTargets()[node];
            if (target >= 0) {
                table.visit(table.stack(target, table.below(stack)));
                any = true;
            } else if (readsPlain(automaton.ranges()[node])) {
                return null;
            }
        }
        return any ? closure() : null;
    }

    private static boolean readsPlain(int[] ranges) {
        for (int index = 0; index < ranges.length; index += 3) {
            boolean special = ranges[index] == ranges[index + 1] && (ranges[index] == '"' || ranges[index] == '\\');
            if (ranges[index + 1] >= 0x20 && !special) {
                return true;
            }
        }
        return false;
    }

    /** The tokens that may come next; shared, not to be changed. */
    synchronized long[] mask(State state) {
        long[] mask = state.mask;
        if (mask == null) {
            if (masks++ >= MOST_MASKS || states.size() > MOST_STATES) {
                forget();
            }
            mask = vocabulary.mask(this, state);
            state.mask = mask;
        }
        return mask;
    }

    /** States in use stay valid: they only have to find their neighbours again. */
    private void forget() {
        for (State state : states.values()) {
            state.mask = null;
            Arrays.fill(state.next, null);
            state.plain = null;
            state.plainKnown = false;
            state.behindQuote = null;
        }
        states.clear();
        masks = 0;
    }

    /** The state behind all bytes of a token; dead when it is not allowed. */
    synchronized State read(State from, byte[] bytes) {
        State state = from;
        for (byte value : bytes) {
            state = step(state, value & 0xFF);
            if (state.isDead()) {
                break;
            }
        }
        return state;
    }

    /** How many states have been made, for tests. */
    synchronized int states() {
        return states.size();
    }
}
