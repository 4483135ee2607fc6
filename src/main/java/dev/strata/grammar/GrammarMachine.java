package dev.strata.grammar;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Runs an {@link Automaton}. A state is the set of stacks it can be in; states, their steps and their token masks are made once and kept.
 * All calls hold the machine's lock, so that sequences with the same schema share one machine.
 */
final class GrammarMachine {
    /** More stacks at once mean a grammar that calls itself without reading anything. */
    private static final int MOST_STACKS = 4_000;
    /** Kept states; all are forgotten beyond that. */
    private static final int MOST_STATES = 20_000;

    private static final int MOST_MASKS = 1_000;

    /** A node with where to go on when its rule ends. Equal stacks are one object. */
    private record Stack(int node, @Nullable Stack below, int id) {}

    /** A set of stacks, with what has been found out about it. */
    final class State {
        private final Stack[] stacks;
        private final boolean accepting;
        private final @Nullable State[] next = new State[256];
        private @Nullable State plain;
        private boolean plainKnown;
        private long @Nullable [] mask;
        /** Which bytes can be read, one bit each. */
        private final long[] readable = new long[4];
        /** Tokens behind a closing quote; see {@link GrammarVocabulary}. */
        long @Nullable [] behindQuote;

        private State(Stack[] stacks, boolean accepting) {
            this.stacks = stacks;
            this.accepting = accepting;
            for (Stack stack : stacks) {
                int[] ranges = automaton.ranges()[stack.node];
                for (int index = 0; index < ranges.length; index += 3) {
                    for (int value = ranges[index]; value <= ranges[index + 1]; value++) {
                        readable[value >> 6] |= 1L << value;
                    }
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
    private final Map<Long, Stack> stacks = new HashMap<>();
    private final Map<StateKey, State> states = new HashMap<>();
    private final State dead = new State(new Stack[0], false);
    private final State start;
    private int masks;
    private int nextStack;

    GrammarMachine(Automaton automaton, GrammarVocabulary vocabulary) {
        this.automaton = automaton;
        this.vocabulary = vocabulary;
        this.start = closure(List.of(stack(automaton.start(), null)));
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

    private Stack stack(int node, @Nullable Stack below) {
        long key = (below == null ? 0L : below.id + 1L) << 32 | node;
        Stack known = stacks.get(key);
        if (known == null) {
            known = new Stack(node, below, nextStack++);
            stacks.put(key, known);
        }
        return known;
    }

    /** Follows empty steps, calls and ends of rules. */
    private State closure(List<Stack> from) {
        List<Stack> open = new ArrayList<>(from);
        Set<Stack> seen = new HashSet<>(from);
        List<Stack> readers = new ArrayList<>();
        boolean accepting = false;
        while (!open.isEmpty()) {
            Stack stack = open.removeLast();
            int node = stack.node;
            if (automaton.ranges()[node].length > 0) {
                readers.add(stack);
            }
            for (int target : automaton.empty()[node]) {
                visit(stack(target, stack.below), seen, open);
            }
            int[] calls = automaton.calls()[node];
            for (int index = 0; index < calls.length; index += 2) {
                // A call with nothing behind it needs no stack of its own: lists written with recursion stay flat.
                Stack below =
                        automaton.isBareEnd(calls[index + 1]) ? stack.below : stack(calls[index + 1], stack.below);
                visit(stack(calls[index], below), seen, open);
            }
            if (automaton.ends()[node]) {
                if (stack.below == null) {
                    accepting = true;
                } else {
                    visit(stack.below, seen, open);
                }
            }
        }
        return intern(readers, accepting);
    }

    private static void visit(Stack stack, Set<Stack> seen, List<Stack> open) {
        if (seen.add(stack)) {
            open.add(stack);
            if (seen.size() > MOST_STACKS) {
                throw new GrammarException(
                        "more than " + MOST_STACKS
                                + " rules could go on at one place: too many optional properties, or a rule that calls itself before it reads anything (left recursion)");
            }
        }
    }

    private State intern(List<Stack> readers, boolean accepting) {
        if (readers.isEmpty() && !accepting) {
            return dead;
        }
        int[] ids = readers.stream().mapToInt(stack -> stack.id).sorted().toArray();
        return states.computeIfAbsent(
                new StateKey(ids, accepting), key -> new State(readers.toArray(Stack[]::new), accepting));
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
        List<Stack> targets = new ArrayList<>();
        for (Stack stack : state.stacks) {
            int[] ranges = automaton.ranges()[stack.node];
            for (int index = 0; index < ranges.length; index += 3) {
                if (value >= ranges[index] && value <= ranges[index + 1]) {
                    targets.add(stack(ranges[index + 2], stack.below));
                }
            }
        }
        State next = targets.isEmpty() ? dead : closure(targets);
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
        for (Stack stack : state.stacks) {
            if (!automaton.free()[stack.node] && !readsQuoteOnly(automaton.ranges()[stack.node])) {
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
        List<Stack> targets = new ArrayList<>();
        for (Stack stack : state.stacks) {
            int target = automaton.plainTargets()[stack.node];
            if (target >= 0) {
                targets.add(stack(target, stack.below));
            } else if (readsPlain(automaton.ranges()[stack.node])) {
                return null;
            }
        }
        return targets.isEmpty() ? null : closure(targets);
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
