package dev.strata.engine;

import dev.strata.config.EngineOptions.Speculation;
import dev.strata.decode.PromptLookup;
import dev.strata.device.Batch;
import dev.strata.model.Model;
import dev.strata.sampling.DraftChoice;
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
    private final DraftChoice choice;
    private final int mostSequences;

    /** @param mostSequences with more sequences decoding at once, their rows fill a pass better than guesses */
    Drafting(Model model, Passes passes, Speculation speculation, int mostSequences) {
        this.passes = passes;
        this.speculation = speculation;
        this.mostSequences = mostSequences;
        layer = speculation.wantsLayer() && model.canDraft();
        choice = new DraftChoice(model.config().vocabulary());
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

    /** The first call follows the trunk; each further one continues the drafts that are still likely. */
    private void draft(List<Part> done, int most) {
        List<Part> parts = new ArrayList<>();
        int rows = 0;
        for (Part part : done) {
            if (!part.sequence().ended) {
                parts.add(new Part(part.sequence(), rows, part.rows(), part.past(), 0));
                rows += part.rows();
            }
        }
        if (parts.isEmpty()) {
            return;
        }
        int[] tokens = new int[rows];
        int[] source = new int[rows];
        List<Part> going = new ArrayList<>();
        int row = 0;
        for (Part part : done) {
            Sequence sequence = part.sequence();
            if (sequence.ended) {
                continue;
            }
            for (int i = 0; i < part.rows(); i++, row++) {
                tokens[row] = sequence.tokens()[part.past() + i + 1];
                source[row] = part.firstRow() + i;
            }
        }
        for (Part part : parts) {
            if (wants(part.sequence()) && part.sequence().draftCount == 0 && room(part.sequence(), most) > 0) {
                going.add(part);
            }
        }
        passes.draft(parts, tokens, source, lastRows(going));
        chain(going, most);
    }

    private void chain(List<Part> first, int most) {
        List<Part> going = first;
        int step = 1;
        while (!going.isEmpty()) {
            List<Part> likely = new ArrayList<>();
            List<Integer> sources = new ArrayList<>();
            for (int i = 0; i < going.size(); i++) {
                Sequence sequence = going.get(i).sequence();
                choice.read(passes.logits(), i);
                if (choice.probability() >= speculation.leastProbability()) {
                    sequence.drafts[sequence.draftCount++] = choice.token();
                    if (sequence.draftCount < room(sequence, most)) {
                        likely.add(new Part(sequence, likely.size(), 1, sequence.past - 1 + step, 0));
                        sources.add(-1 - (going.get(i).end() - 1));
                    }
                }
            }
            if (likely.isEmpty()) {
                return;
            }
            int[] tokens = new int[likely.size()];
            int[] source = new int[likely.size()];
            for (int i = 0; i < tokens.length; i++) {
                Sequence sequence = likely.get(i).sequence();
                tokens[i] = sequence.drafts[sequence.draftCount - 1];
                source[i] = sources.get(i);
            }
            passes.draft(likely, tokens, source, lastRows(likely));
            going = likely;
            step++;
        }
    }

    private static int[] lastRows(List<Part> parts) {
        int[] rows = new int[parts.size()];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = parts.get(i).end() - 1;
        }
        return rows;
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
