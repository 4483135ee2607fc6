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

    /** All characters of the classes to one state. */
    static Fan to(GrammarMachine.State target, ClassSet classes) {
        return new Fan(classes, List.of(new Branch(target, classes)));
    }
}
