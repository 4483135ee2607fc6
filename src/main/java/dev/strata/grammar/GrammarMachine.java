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

    /** Work for one mask, in stacks that were looked at; more would hold up all sequences. */
    private static final int MOST_WORK = 3_000_000;

    private static final int MOST_NEW_STATES = 30_000;
    private static final int MOST_KEPT_STACKS = 300_000;
    /** Control characters that share one class. */
    private static final long CONTROLS = 0xFFFFFFFFL & ~(1L << '\t' | 1L << '\n' | 1L << '\r');
    /** States that read fewer ASCII characters are cheap to walk from. */
    private static final int LEAST_READ = 24;

    /** Masks of strings that are closed by a quote in front of a state. */
    static final class QuoteMasks {
        /** Tokens that close the string, whatever they hold in front of the quote. */
        long @Nullable [] exits;
        /** All tokens inside of the string and those that close it, when it may have any length. */
        long @Nullable [] before;
    }

    /** A set of stacks, with what has been found out about it. */
    final class State {
        /** Numbers of stacks, in order. */
        private final int[] stacks;

        private final boolean accepting;
        private final boolean dead;
        private @Nullable State @Nullable [] next;
        /** Null when the state reads anything else. */
        private @Nullable LetterStep letter;

        private boolean letterKnown;
        private @Nullable Fan fan;
        private @Nullable Roaming roaming;
        /** Behind so many more bytes of a character, when it is one state whatever they are. */
        @Nullable
        State tail;

        int tailBytes;
        private long @Nullable [] mask;
        /** Which bytes can be read, one bit each. */
        private final long[] readable;

        private @Nullable QuoteMasks masks;

        private State(int[] stacks, boolean accepting) {
            this.stacks = stacks;
            this.accepting = accepting;
            this.dead = stacks.length == 0 && !accepting;
            if (stacks.length == 1) {
                readable = GrammarMachine.this.readable(table.node(stacks[0]));
            } else {
                readable = new long[4];
                for (int stack : stacks) {
                    long[] bytes = GrammarMachine.this.readable(table.node(stack));
                    for (int word = 0; word < 4; word++) {
                        readable[word] |= bytes[word];
                    }
                }
            }
        }

        /** Whether the state can be in all stacks that the other can be in, so that it reads whatever the other reads. */
        boolean reads(State other) {
            int at = 0;
            for (int stack : other.stacks) {
                while (at < stacks.length && stacks[at] < stack) {
                    at++;
                }
                if (at == stacks.length || stacks[at] != stack) {
                    return false;
                }
            }
            return accepting || !other.accepting;
        }

        /** Whether a byte can come next. */
        boolean reads(int value) {
            return (readable[value >> 6] >>> value & 1) != 0;
        }

        /** Whether nothing but the end of a string can follow. */
        boolean readsQuoteOnly() {
            return isQuoteOnly(readable);
        }

        /** Classes of which any character can be read. */
        ClassSet read() {
            long low = readable[0] & ~CONTROLS;
            if ((readable[0] & CONTROLS) != 0) {
                low |= 1L << Characters.CONTROL;
            }
            for (int word = 2; word < 4; word++) {
                for (long bits = readable[word]; bits != 0; bits &= bits - 1) {
                    low |= 1L << Characters.classOf(64 * word + Long.numberOfTrailingZeros(bits));
                }
            }
            return new ClassSet(low, readable[1]);
        }

        QuoteMasks masks() {
            QuoteMasks known = masks;
            if (known == null) {
                known = new QuoteMasks();
                masks = known;
            }
            return known;
        }

        private void forget() {
            mask = null;
            next = null;
            letter = null;
            letterKnown = false;
            fan = null;
            roaming = null;
            tail = null;
            tailBytes = 0;
            masks = null;
        }

        /** No text goes on from here, and none ends here. */
        boolean isDead() {
            return dead;
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
    private int work;
    private int created;

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

    /** From which nothing can be read. */
    State dead() {
        return dead;
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
            work++;
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
        if (work > MOST_WORK || created > MOST_NEW_STATES) {
            throw new GrammarException(
                    "the schema or grammar can be read in too many ways at one place (\"pattern\", \"anyOf\" or rules that overlap)");
        }
        return count == 0 && !accepting ? dead : intern(Arrays.copyOf(readers, count), accepting);
    }

    private State intern(int[] readers, boolean accepting) {
        Arrays.sort(readers);
        StateKey key = new StateKey(readers, accepting);
        State known = states.get(key);
        if (known == null) {
            created++;
            known = new State(readers, accepting);
            states.put(key, known);
        }
        return known;
    }

    /** The state behind one more byte. */
    State step(State state, int value) {
        State[] next = state.next;
        if (next != null) {
            State known = next[value];
            if (known != null) {
                return known;
            }
        }
        return state.reads(value) ? firstStep(state, value) : dead;
    }

    private State firstStep(State state, int value) {
        table.begin();
        // Bytes around this one that no range tells apart lead to the same state.
        int low = 0;
        int high = 255;
        for (int stack : state.stacks) {
            int[] ranges = automaton.ranges()[table.node(stack)];
            work += ranges.length;
            for (int index = 0; index < ranges.length; index += 3) {
                if (value < ranges[index]) {
                    high = Math.min(high, ranges[index] - 1);
                } else if (value > ranges[index + 1]) {
                    low = Math.max(low, ranges[index + 1] + 1);
                } else {
                    low = Math.max(low, ranges[index]);
                    high = Math.min(high, ranges[index + 1]);
                    table.visit(table.stack(ranges[index + 2], table.below(stack)));
                }
            }
        }
        State target = closure();
        State[] next = state.next;
        if (next == null) {
            next = new State[256];
            state.next = next;
        }
        Arrays.fill(next, low, high + 1, target);
        return target;
    }

    /** How a JSON string goes on, when the state is inside such a string and reads nothing but one letter of it or its end. */
    @Nullable
    LetterStep letterStep(State state) {
        if (!state.letterKnown) {
            state.letterKnown = true;
            state.letter = firstLetterStep(state);
        }
        return state.letter;
    }

    private @Nullable LetterStep firstLetterStep(State state) {
        int rule = -1;
        LetterClasses letter = null;
        for (int stack : state.stacks) {
            int node = table.node(stack);
            if (node == rule || isQuoteOnly(readable(node))) {
                continue;
            }
            letter = rule < 0 ? automaton.letters().get(node) : null;
            if (letter == null) {
                return null;
            }
            rule = node;
        }
        if (letter == null) {
            return null;
        }
        table.begin();
        for (int stack : state.stacks) {
            if (table.node(stack) == rule) {
                table.visit(table.below(stack));
            }
        }
        return new LetterStep(letter, closure());
    }

    private static boolean isQuoteOnly(long[] bytes) {
        return (bytes[0] & ~(1L << '"') | bytes[1] | bytes[2] | bytes[3]) == 0;
    }

    /** A large set of characters of which any text can be read. */
    Roaming roaming(State state) {
        Roaming known = state.roaming;
        if (known == null) {
            known = Roaming.from(this, state);
            state.roaming = known;
        }
        return known;
    }

    /** Where characters lead; nothing for states that read few of them. */
    Fan fan(State state) {
        Fan known = state.fan;
        if (known == null) {
            known = Long.bitCount(state.readable[0]) + Long.bitCount(state.readable[1]) < LEAST_READ
                    ? Fan.NONE
                    : FanMaker.of(this, state);
            state.fan = known;
        }
        return known;
    }

    /** The tokens that may come next; shared, not to be changed. */
    synchronized long[] mask(State state) {
        long[] mask = state.mask;
        if (mask == null) {
            if (masks >= MOST_MASKS || states.size() > MOST_STATES) {
                forget();
            }
            masks++;
            work = 0;
            created = 0;
            mask = vocabulary.mask(this, state);
            state.mask = mask;
        }
        return mask;
    }

    /** States in use stay valid: they only have to find their neighbours again. */
    private void forget() {
        states.values().forEach(State::forget);
        dead.forget();
        states.clear();
        masks = 0;
    }

    /** How many masks are kept. */
    synchronized int masks() {
        return masks;
    }

    /** Whether more has been learnt than is worth keeping for another request. */
    synchronized boolean isWorn() {
        return table.size() > MOST_KEPT_STACKS;
    }

    /** The state behind all bytes of a token; dead when it is not allowed. */
    synchronized State read(State from, byte[] bytes) {
        work = 0;
        created = 0;
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
