package dev.strata.grammar;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A set of characters of which any text can be read from a state, up to a length.
 *
 * @param dead classes of characters of which none can be read anywhere on the way
 * @param run how many characters of the set can be read for certain; {@link #ENDLESS}: any number
 * @param ends whether none of them can be read behind so many
 */
record Roaming(ClassSet classes, ClassSet dead, int run, boolean ends) {
    static final int ENDLESS = Integer.MAX_VALUE;
    static final Roaming NONE = new Roaming(ClassSet.NONE, ClassSet.NONE, 0, false);

    /** Fewer characters are not worth the search. */
    private static final int LEAST = 24;
    /** Longer texts are looked at token by token. */
    private static final int LONGEST = 48;

    private static final int MOST_STATES = 56;
    private static final int MOST_ATTEMPTS = 32;

    /** Whether texts of these characters can be read, or end at one that cannot. */
    boolean decides(ClassSet others) {
        return others.minus(classes).minus(dead).isEmpty();
    }

    /** Looks for a large such set. */
    static Roaming from(GrammarMachine machine, GrammarMachine.State start) {
        Search search = new Search(machine, machine.fan(start).classes());
        for (int attempt = 0; attempt < MOST_ATTEMPTS && search.classes.size() >= LEAST; attempt++) {
            Roaming found = search.attempt(start);
            if (found != null) {
                return found;
            }
        }
        return NONE;
    }

    private static final class Search {
        private final GrammarMachine machine;
        private ClassSet classes;
        /** Classes of which anything is read on the way. */
        private ClassSet read = ClassSet.NONE;

        private final List<GrammarMachine.State> seen = new ArrayList<>();
        /** Whether a way leads to a state that was seen, or to one that another stands for. */
        private boolean back;

        private Search(GrammarMachine machine, ClassSet classes) {
            this.machine = machine;
            this.classes = classes;
        }

        /** Follows the characters from the start; null when there have to be fewer of them. */
        private @Nullable Roaming attempt(GrammarMachine.State start) {
            List<GrammarMachine.State> level = List.of(start);
            seen.clear();
            seen.add(start);
            back = false;
            read = start.read();
            for (int run = 1; run <= LONGEST; run++) {
                level = behind(level);
                if (level == null) {
                    return null;
                }
                if (level.isEmpty()) {
                    return roaming(ENDLESS, false);
                }
                seen.addAll(level);
                boolean ends = !back
                        && level.stream()
                                .allMatch(state ->
                                        state.read().intersection(classes).isEmpty());
                boolean goOn = level.stream()
                        .allMatch(state -> machine.fan(state).classes().containsAll(classes));
                if (ends || !goOn || seen.size() > MOST_STATES) {
                    return roaming(run, ends);
                }
            }
            return roaming(LONGEST, false);
        }

        /** The new states behind one more character; null when there have to be fewer characters. */
        private @Nullable List<GrammarMachine.State> behind(List<GrammarMachine.State> level) {
            List<GrammarMachine.State> next = new ArrayList<>();
            for (GrammarMachine.State state : level) {
                for (Fan.Branch branch : machine.fan(state).branches()) {
                    ClassSet by = branch.classes().intersection(classes);
                    if (!by.isEmpty() && !next.contains(branch.target()) && !reach(branch.target(), by, next)) {
                        return null;
                    }
                }
            }
            return next;
        }

        /** Puts a state among the next ones, unless it is known or another stands for it; false when there have to be fewer characters. */
        private boolean reach(GrammarMachine.State target, ClassSet by, List<GrammarMachine.State> next) {
            if (seen.contains(target)) {
                back = true;
                return true;
            }
            if (readsOneOf(target, seen) || readsOneOf(target, next)) {
                standIn();
                return true;
            }
            if (!fits(target, by)) {
                return false;
            }
            if (next.removeIf(other -> other.reads(target))) {
                standIn();
            }
            next.add(target);
            read = read.union(target.read());
            return true;
        }

        /** A loop: each new state is compared with all that were seen. */
        private static boolean readsOneOf(GrammarMachine.State target, List<GrammarMachine.State> others) {
            for (GrammarMachine.State other : others) {
                if (target.reads(other)) {
                    return true;
                }
            }
            return false;
        }

        /** What is found for one state holds for another too; but more may be read there on the way. */
        private void standIn() {
            back = true;
            read = ClassSet.ALL;
        }

        private Roaming roaming(int run, boolean ends) {
            return new Roaming(classes, ClassSet.ALL.minus(read), run, ends);
        }

        /** Whether a state can stay among those reached; otherwise takes the characters away that lead there or that it does not read. */
        private boolean fits(GrammarMachine.State state, ClassSet by) {
            ClassSet readHere = machine.fan(state).classes();
            int missing = classes.minus(readHere).size();
            // Where none of them can be read the text of these characters ends.
            if (missing == 0 || missing == classes.size() && by.equals(classes)) {
                return true;
            }
            classes = missing >= by.size() ? classes.minus(by) : classes.intersection(readHere);
            return false;
        }
    }
}
