package dev.strata.grammar;

import java.util.List;

/**
 * Where characters lead from a state, by their classes. Classes whose characters do not all lead to one state are left out.
 *
 * @param classes all these classes
 * @param branches one for each state they lead to
 */
record Fan(ClassSet classes, List<Branch> branches) {
    /** @param classes all that lead to the target */
    record Branch(GrammarMachine.State target, ClassSet classes) {}

    static final Fan NONE = new Fan(ClassSet.NONE, List.of());

    private static final ClassSet OF_STRINGS = new ClassSet(
            ~(1L << Characters.CONTROL | 1L << '\t' | 1L << '\n' | 1L << '\r' | 1L << '"' | 1L << Characters.MALFORMED),
            ~(1L << '\\'));

    /** All characters that a JSON string holds as they are, to one state. */
    static Fan ofString(GrammarMachine.State target) {
        return new Fan(OF_STRINGS, List.of(new Branch(target, OF_STRINGS)));
    }
}
