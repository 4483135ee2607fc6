package dev.strata.grammar;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds out where the characters of each class lead from a state. */
final class FanMaker {
    private final GrammarMachine machine;

    private FanMaker(GrammarMachine machine) {
        this.machine = machine;
    }

    /** Looks at all characters that a state reads. */
    static Fan of(GrammarMachine machine, GrammarMachine.State state) {
        return new FanMaker(machine).fan(state);
    }

    private Fan fan(GrammarMachine.State state) {
        LetterStep inString = machine.letterStep(state);
        if (inString != null) {
            return Fan.to(inString.target(), inString.letter().plain());
        }
        @Nullable GrammarMachine.State[] byClass = new GrammarMachine.State[Characters.CLASSES];
        for (int value = 0; value <= 0xF4; value++) {
            int kind = Characters.classOf(value);
            GrammarMachine.State behind = state.reads(value) ? behindCharacter(state, value) : machine.dead();
            byClass[kind] =
                    behind == null || byClass[kind] != null && byClass[kind] != behind ? machine.dead() : behind;
        }
        List<Fan.Branch> branches = new ArrayList<>();
        ClassSet all = ClassSet.NONE;
        for (int kind = 0; kind < Characters.CLASSES; kind++) {
            GrammarMachine.State target = byClass[kind];
            if (target == null || target.isDead() || all.contains(kind)) {
                continue;
            }
            ClassSet classes = ClassSet.NONE;
            for (int other = kind; other < Characters.CLASSES; other++) {
                classes = byClass[other] == target ? classes.with(other) : classes;
            }
            branches.add(new Fan.Branch(target, classes));
            all = all.union(classes);
        }
        return new Fan(all, branches);
    }

    /** The state behind all characters with this first byte; null when it is not the same for all. */
    private GrammarMachine.@Nullable State behindCharacter(GrammarMachine.State state, int first) {
        int length = Characters.lengthOf(first);
        if (length == 0) {
            return null;
        }
        GrammarMachine.State behind = machine.step(state, first);
        if (length == 1) {
            return behind;
        }
        int low = Characters.lowestSecond(first);
        int high = Characters.highestSecond(first);
        return low == 0x80 && high == 0xBF ? tail(behind, length - 1) : common(behind, length - 1, low, high);
    }

    private GrammarMachine.@Nullable State common(GrammarMachine.State state, int bytes, int low, int high) {
        GrammarMachine.State before = null;
        GrammarMachine.State one = null;
        for (int value = low; value <= high; value++) {
            GrammarMachine.State next = machine.step(state, value);
            if (next != before) {
                before = next;
                GrammarMachine.State last = next.isDead() ? null : bytes == 1 ? next : tail(next, bytes - 1);
                if (last == null || one != null && one != last) {
                    return null;
                }
                one = last;
            }
        }
        return one;
    }

    private GrammarMachine.@Nullable State tail(GrammarMachine.State state, int bytes) {
        if (state.tailBytes != bytes) {
            state.tail = common(state, bytes, 0x80, 0xBF);
            state.tailBytes = bytes;
        }
        return state.tail;
    }
}
