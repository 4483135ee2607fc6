package dev.strata.engine;

import dev.strata.device.Batch;
import java.util.ArrayList;
import java.util.List;

/**
 * Decode steps that are begun before the ones that choose their tokens have ended, so that a card goes on while the host takes in what a step
 * brought. Only where the card alone knows the next tokens, and while nothing else waits for the model. Used by the step loop alone.
 */
final class StepsAhead {
    /** So many steps after each other are begun ahead; then whatever else there is gets its turn. */
    private static final int MOST = 32;

    private final Passes passes;
    private final boolean possible;
    /** The parts of the step that was begun and not ended. */
    private List<Part> begun = List.of();

    private int inARow;

    /** @param drafts whether there may be drafts, which take the place of steps ahead */
    StepsAhead(Passes passes, boolean drafts) {
        this.passes = passes;
        possible = passes.foresees() && !drafts;
    }

    /** Whether a step runs already. */
    boolean running() {
        return !begun.isEmpty();
    }

    /** Its parts whose sequences have not ended meanwhile. */
    List<Part> live() {
        return begun.stream().filter(part -> !part.sequence().ended).toList();
    }

    /**
     * Runs a step in place of {@link Passes#verify}.
     *
     * @param calm whether nothing else waits for the model
     * @return false when it has to be run as usual
     */
    boolean run(List<Part> parts, boolean calm) {
        boolean runs = running();
        boolean whole = !runs || parts.size() == begun.size();
        boolean next =
                possible && whole && calm && inARow < MOST && parts.stream().allMatch(StepsAhead::goesOn);
        if (!runs && !next) {
            inARow = 0;
            return false;
        }
        if (!runs) {
            passes.begin(parts, false);
        }
        begun = List.of();
        if (next) {
            List<Part> behind = behind(parts);
            passes.begin(behind, true);
            begun = behind;
        }
        inARow = next ? inARow + 1 : 0;
        passes.end();
        return true;
    }

    /** Sequences have taken their tokens: what has ended was read to its end by the step that was begun. */
    void taken() {
        for (Part part : begun) {
            Sequence sequence = part.sequence();
            if (!sequence.ended) {
                continue;
            }
            if (sequence.length() == part.past() + 1) {
                sequence.past = sequence.length();
            } else {
                // The card read a token that the text does not have.
                sequence.suspect = true;
            }
        }
    }

    /** Waits for what was begun and forgets it. */
    void drop() {
        begun = List.of();
        passes.drop();
    }

    private static boolean goesOn(Part part) {
        Sequence sequence = part.sequence();
        return part.rows() == 1
                && !sequence.suspect
                && sequence.sampler.picksAlone()
                && sequence.generated() + 1 < sequence.mostTokens
                && (long) sequence.pageCount * Batch.PAGE >= part.past() + 2;
    }

    private static List<Part> behind(List<Part> parts) {
        List<Part> behind = new ArrayList<>(parts.size());
        for (Part part : parts) {
            behind.add(new Part(part.sequence(), part.firstRow(), 1, part.past() + 1, 0));
        }
        return behind;
    }
}
