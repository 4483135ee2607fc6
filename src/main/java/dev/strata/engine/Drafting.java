package dev.strata.engine;

import dev.strata.config.EngineOptions.Speculation;
import dev.strata.decode.PromptLookup;
import dev.strata.device.Batch;
import dev.strata.model.DraftedTokens;
import dev.strata.model.Model;
import dev.strata.sampling.TokenConstraint;
import java.util.ArrayList;
import java.util.List;

/**
 * Guesses the next tokens of sequences after a pass: with the model's draft layer, whose keys and values follow the trunk's row by row, or by
 * looking up how the text went on before. Drafts that the answer's rule forbids are never verified. Used by the step loop alone.
 */
final class Drafting {
    private final Passes passes;
    private final Speculation speculation;
    private final boolean layer;
    private final int mostSequences;

    /** @param mostSequences with more sequences decoding at once, their rows fill a pass better than guesses */
    Drafting(Model model, Passes passes, Speculation speculation, int mostSequences) {
        this.passes = passes;
        this.speculation = speculation;
        this.mostSequences = mostSequences;
        layer = speculation.wantsLayer() && model.canDraft();
    }

    boolean possible() {
        return speculation.window() > 1 && (layer || speculation.lookupLength() > 0);
    }

    /** Most rows of a verify pass for one of {@code decoding} sequences. */
    int window(int decoding) {
        return possible() && decoding <= mostSequences ? Math.min(speculation.window(), Batch.MAX_WINDOW) : 1;
    }

    /**
     * Makes drafts for all sequences that decode now.
     *
     * @param done the parts of the last pass, with the rows of each that were taken
     * @param decoding sequences that decode at present
     */
    void after(List<Part> done, int decoding) {
        int window = window(decoding);
        for (Part part : done) {
            part.sequence().draftCount = 0;
        }
        if (window > 1) {
            lookUp(done, window - 1);
        }
        if (layer) {
            draft(done, window - 1);
        }
        for (Part part : done) {
            keepAllowed(part.sequence());
        }
    }

    private void lookUp(List<Part> done, int most) {
        if (speculation.lookupLength() == 0) {
            return;
        }
        for (Part part : done) {
            Sequence sequence = part.sequence();
            if (wants(sequence)) {
                PromptLookup lookup = sequence.lookup;
                if (lookup == null) {
                    lookup = new PromptLookup(speculation.lookupLength());
                    sequence.lookup = lookup;
                }
                sequence.draftCount =
                        lookup.propose(sequence.tokens(), sequence.length(), room(sequence, most), sequence.drafts);
            }
        }
    }

    /** The layer follows the trunk; behind the sequences that want drafts it goes on. */
    private void draft(List<Part> done, int most) {
        List<Part> following = new ArrayList<>();
        List<Part> drafting = new ArrayList<>();
        int fewest = most;
        for (Part part : done) {
            Sequence sequence = part.sequence();
            int room = room(sequence, most);
            if (wants(sequence) && sequence.draftCount == 0 && room > 0) {
                drafting.add(part);
                fewest = Math.min(fewest, room);
            } else if (!sequence.ended) {
                following.add(part);
            }
        }
        if (!following.isEmpty()) {
            passes.follow(DraftRows.behind(following));
        }
        if (!drafting.isEmpty()) {
            float least = speculation.leastProbability();
            DraftedTokens drafted = passes.draft(DraftRows.behind(drafting), fewest, least);
            for (int i = 0; i < drafting.size(); i++) {
                take(drafted, i, least, drafting.get(i).sequence());
            }
        }
    }

    /** The drafts before the first unlikely one. */
    private static void take(DraftedTokens drafted, int index, float least, Sequence sequence) {
        int count = 0;
        while (count < drafted.made() && drafted.probability(index, count) >= least) {
            sequence.drafts[count] = drafted.token(index, count);
            count++;
        }
        sequence.draftCount = count;
    }

    private static boolean wants(Sequence sequence) {
        return !sequence.ended && !sequence.reading();
    }

    /** Drafts that the answer's length and the sequence's pages leave room for. */
    private static int room(Sequence sequence, int most) {
        int left = sequence.mostTokens - sequence.generated() - 1;
        int paged = sequence.pageCount * Batch.PAGE - sequence.length();
        return Math.max(0, Math.min(most, Math.min(left, paged)));
    }

    private static void keepAllowed(Sequence sequence) {
        TokenConstraint constraint = sequence.sampler.constraint();
        if (constraint == null || sequence.draftCount == 0) {
            return;
        }
        int kept = 0;
        try {
            TokenConstraint ahead = constraint.fork();
            while (kept < sequence.draftCount && ahead.accepts(sequence.drafts[kept])) {
                ahead.accept(sequence.drafts[kept++]);
            }
        } catch (RuntimeException e) {
            // The answer itself will meet it, if it gets there.
            kept = Math.max(0, kept - 1);
        }
        sequence.draftCount = kept;
    }
}
