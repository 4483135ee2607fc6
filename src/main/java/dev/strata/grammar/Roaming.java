package dev.strata.grammar;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A set of characters of which any text can be read from a state, up to a length.
 *
 * @param low classes 0 to 63 of {@link Characters}, one bit each
 * @param high the others
 * @param deadLow classes of characters of which none can be read anywhere on the way
 * @param deadHigh the others
 * @param run how many such characters can be read for certain; {@link #ENDLESS}: any number
 * @param ends whether none of them can be read behind so many
 */
record Roaming(long low, long high, long deadLow, long deadHigh, int run, boolean ends) {
    static final int ENDLESS = Integer.MAX_VALUE;
    static final Roaming NONE = new Roaming(0, 0, 0, 0, 0, false);

    /** Fewer characters are not worth the search. */
    private static final int LEAST = 24;
    /** Longer texts are looked at token by token. */
    private static final int LONGEST = 48;

    private static final int MOST_STATES = 56;
    private static final int MOST_ATTEMPTS = 32;

    boolean contains(int characterClass) {
        return ((characterClass < 64 ? low : high) >>> characterClass & 1) != 0;
    }

    boolean containsAll(long otherLow, long otherHigh) {
        return (otherLow & ~low | otherHigh & ~high) == 0;
    }

    /** Whether texts of these characters can be read, or end at one that cannot. */
    boolean decides(long otherLow, long otherHigh) {
        return (otherLow & ~(low | deadLow) | otherHigh & ~(high | deadHigh)) == 0;
    }

    /** Looks for a large such set. */
    static Roaming from(GrammarMachine machine, GrammarMachine.State start) {
        Fan first = machine.fan(start);
        Search search = new Search(first.low(), first.high());
        for (int attempt = 0; attempt < MOST_ATTEMPTS && search.size() >= LEAST; attempt++) {
            Roaming found = search.attempt(machine, start);
            if (found != null) {
                return found;
            }
        }
        return NONE;
    }

    private static final class Search {
        private long low;
        private long high;
        /** Classes of which anything is read on the way. */
        private long readLow;

        private long readHigh;

        private Search(long low, long high) {
            this.low = low;
            this.high = high;
        }

        private int size() {
            return Long.bitCount(low) + Long.bitCount(high);
        }

        /** Follows the characters from the start; null when there have to be fewer of them. */
        private @Nullable Roaming attempt(GrammarMachine machine, GrammarMachine.State start) {
            List<GrammarMachine.State> seen = new ArrayList<>(List.of(start));
            List<GrammarMachine.State> level = List.of(start);
            boolean back = false;
            readLow = start.readLow();
            readHigh = start.readHigh();
            for (int run = 0; run < LONGEST; run++) {
                List<GrammarMachine.State> next = new ArrayList<>();
                for (GrammarMachine.State state : level) {
                    Fan fan = machine.fan(state);
                    for (int index = 0; index < fan.targets().length; index++) {
                        long byLow = fan.lows()[index] & low;
                        long byHigh = fan.highs()[index] & high;
                        GrammarMachine.State target = fan.targets()[index];
                        if ((byLow | byHigh) == 0 || next.contains(target)) {
                            continue;
                        }
                        if (seen.contains(target)) {
                            back = true;
                            continue;
                        }
                        if (seen.stream().anyMatch(target::reads)
                                || next.stream().anyMatch(target::reads)) {
                            // What is found for the other state holds here too; but more may be read on the way.
                            back = true;
                            readLow = -1;
                            readHigh = -1;
                            continue;
                        }
                        if (!fits(machine, target, byLow, byHigh)) {
                            return null;
                        }
                        if (next.removeIf(other -> other.reads(target))) {
                            back = true;
                            readLow = -1;
                            readHigh = -1;
                        }
                        next.add(target);
                        readLow |= target.readLow();
                        readHigh |= target.readHigh();
                    }
                }
                if (next.isEmpty()) {
                    return roaming(ENDLESS, false);
                }
                seen.addAll(next);
                boolean ends = !back && next.stream().noneMatch(state -> state.readsAny(low, high));
                boolean goOn =
                        next.stream().allMatch(state -> machine.fan(state).missing(low, high) == 0);
                if (ends || !goOn || seen.size() > MOST_STATES) {
                    return roaming(run + 1, ends);
                }
                level = next;
            }
            return roaming(LONGEST, false);
        }

        private Roaming roaming(int run, boolean ends) {
            return new Roaming(low, high, ~readLow, ~readHigh, run, ends);
        }

        /** Whether a state can stay among those reached; otherwise takes the characters away that lead there or that it does not read. */
        private boolean fits(GrammarMachine machine, GrammarMachine.State state, long byLow, long byHigh) {
            Fan fan = machine.fan(state);
            int missing = fan.missing(low, high);
            if (missing == 0 || missing == size()) {
                // Where none of them can be read the text of these characters ends.
                boolean all = (byLow == low && byHigh == high);
                if (missing == 0 || all) {
                    return true;
                }
            }
            if (missing >= Long.bitCount(byLow) + Long.bitCount(byHigh)) {
                low &= ~byLow;
                high &= ~byHigh;
            } else {
                low &= fan.low();
                high &= fan.high();
            }
            return false;
        }
    }
}
