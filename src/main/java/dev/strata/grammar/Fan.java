package dev.strata.grammar;

/**
 * Where characters lead from a state, by their classes (see {@link Characters}). Classes whose characters do not all lead to one state are left out.
 *
 * @param low all these classes from 0 to 63, one bit each
 * @param high the others
 * @param targets states they lead to
 * @param lows for each target the classes that lead there
 * @param highs the others
 */
record Fan(long low, long high, GrammarMachine.State[] targets, long[] lows, long[] highs) {
    static final Fan NONE = new Fan(0, 0, new GrammarMachine.State[0], new long[0], new long[0]);

    private static final long LOW_OF_STRINGS =
            ~(1L << Characters.CONTROL | 1L << '\t' | 1L << '\n' | 1L << '\r' | 1L << '"' | 1L << Characters.MALFORMED);
    private static final long HIGH_OF_STRINGS = ~(1L << '\\');

    /** All characters that a JSON string holds as they are, to one state. */
    static Fan ofString(GrammarMachine.State target) {
        return new Fan(
                LOW_OF_STRINGS,
                HIGH_OF_STRINGS,
                new GrammarMachine.State[] {target},
                new long[] {LOW_OF_STRINGS},
                new long[] {HIGH_OF_STRINGS});
    }

    /** How many of the given classes are not here. */
    int missing(long otherLow, long otherHigh) {
        return Long.bitCount(otherLow & ~low) + Long.bitCount(otherHigh & ~high);
    }
}
