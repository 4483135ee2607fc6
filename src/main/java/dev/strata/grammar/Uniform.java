package dev.strata.grammar;

import org.jspecify.annotations.Nullable;

/**
 * The largest part of what a state reads that leads to one and the same state, as classes of {@link Characters}.
 *
 * @param low classes 0 to 63, one bit each
 * @param high the others
 * @param to where all characters of these classes lead; null when there is no such part worth speaking of
 */
record Uniform(long low, long high, GrammarMachine.@Nullable State to) {
    static final Uniform NONE = new Uniform(0, 0, null);

    boolean contains(int characterClass) {
        return ((characterClass < 64 ? low : high) >>> characterClass & 1) != 0;
    }

    boolean containsAll(long otherLow, long otherHigh) {
        return (otherLow & ~low | otherHigh & ~high) == 0;
    }

    /** Whether everything here is in the other one too. */
    boolean isWithin(Uniform other) {
        return other.containsAll(low, high);
    }
}
