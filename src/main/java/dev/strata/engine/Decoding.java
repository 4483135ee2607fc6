package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.model.Model;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decode steps: one pass reads the last token of every sequence, with its drafts behind it. A draft is right when it is the very token that is
 * sampled from the row before it, so texts and their distribution are those without drafts.
 */
final class Decoding {
    private final Model model;
    private final Passes passes;
    private final Outcomes outcomes;
    private final Drafting drafting;
    private final EngineCounters counters;
    private final StepsAhead ahead;
    private final boolean alone;
    /** Whose turn it was last, when they go alone. */
    private @Nullable Sequence last;

    /** @param alone every step takes one sequence, in turn */
    Decoding(Model model, Passes passes, Outcomes outcomes, Drafting drafting, EngineCounters counters, boolean alone) {
        this.alone = alone;
        this.model = model;
        this.passes = passes;
        this.outcomes = outcomes;
        this.drafting = drafting;
        this.ahead = new StepsAhead(passes, drafting.possible());
        this.counters = counters;
    }

    /** Steps that are begun before others have ended. */
    StepsAhead ahead() {
        return ahead;
    }

    /** The parts of the next step. A suspect sequence goes alone. */
    List<Part> plan(List<Sequence> running) {
        if (alone) {
            Sequence next = next(running);
            last = next;
            return next == null ? List.of() : List.of(new Part(next, 0, 1, next.past, 0));
        }
        List<Part> parts = new ArrayList<>(running.size());
        int decoding = 0;
        for (Sequence sequence : running) {
            decoding += sequence.reading() ? 0 : 1;
        }
        int window = drafting.window(decoding);
        int rows = 0;
        for (Sequence sequence : running) {
            if (sequence.reading() || (sequence.suspect && !parts.isEmpty())) {
                continue;
            }
            int drafts = Math.min(sequence.draftCount, window - 1);
            if (rows + 1 + drafts > passes.mostLogitRows()) {
                break;
            }
            parts.add(new Part(sequence, rows, 1 + drafts, sequence.past, drafts));
            rows += 1 + drafts;
            if (sequence.suspect) {
                break;
            }
        }
        return parts;
    }

    /** The sequence behind the one that was last; null when none decodes. */
    private @Nullable Sequence next(List<Sequence> running) {
        int from = last == null ? 0 : running.indexOf(last) + 1;
        for (int i = 0; i < running.size(); i++) {
            Sequence sequence = running.get((from + i) % running.size());
            if (!sequence.reading()) {
                return sequence;
            }
        }
        return null;
    }

    /**
     * Runs the step; the pages of all parts are there.
     *
     * @param calm whether nothing but these parts waits for the model
     */
    void run(List<Part> parts, boolean calm) {
        Batch held = null;
        if (!ahead.run(parts, calm)) {
            Batch batch = passes.verify(parts);
            held = batch.hold() ? batch : null;
        }
        long now = System.nanoTime();
        List<Part> done = new ArrayList<>(parts.size());
        int[] accepted = new int[parts.size()];
        for (int i = 0; i < parts.size(); i++) {
            Part part = parts.get(i);
            int taken = take(part, now);
            accepted[i] = taken;
            done.add(new Part(part.sequence(), part.firstRow(), taken, part.past(), 0));
        }
        ahead.taken();
        if (held != null) {
            model.commit(held, accepted);
        }
        counters.decodeRows.add(parts.size());
        // Making drafts takes a while.
        outcomes.flushBeforePass();
        drafting.after(done, parts.size());
    }

    /** Samples row by row as long as the drafts were right; returns the rows that belong to the text. */
    private int take(Part part, long now) {
        Sequence sequence = part.sequence();
        sequence.passes++;
        sequence.draftsOffered += part.drafts();
        counters.draftsOffered.add(part.drafts());
        int taken = 0;
        try {
            while (true) {
                taken++;
                sequence.past++;
                int token = passes.sample(sequence, part.firstRow() + taken - 1);
                outcomes.token(sequence, token, now);
                boolean right = taken <= part.drafts() && sequence.drafts[taken - 1] == token;
                if (right) {
                    sequence.draftsAccepted++;
                    counters.draftsAccepted.increment();
                }
                if (!right || sequence.ended) {
                    return taken;
                }
            }
        } catch (RuntimeException e) {
            // Whatever is wrong with this answer, its rule or its parser, is no matter of the others in the pass.
            outcomes.broken(sequence, e, now);
            return taken;
        }
    }
}
