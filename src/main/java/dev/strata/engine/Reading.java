package dev.strata.engine;

import dev.strata.model.Model;
import dev.strata.sampling.SamplerScratch;
import java.util.ArrayList;
import java.util.List;

/** Reads prompts: one pass takes the next tokens of the sequences that are first in line, and the answers of those read to their end begin. */
final class Reading {
    /** A quarter of a chunk is for prompts that came later, so that a short one need not wait for the end of a long one. */
    private static final int PART_BEHIND = 4;

    private final Passes passes;
    private final SequenceStore store;
    private final Outcomes outcomes;
    private final Drafting drafting;
    private final EngineCounters counters;
    private final PromptEcho echo;
    private final Stops stops;
    private final int chunk;
    private final boolean alone;

    Reading(
            Passes passes,
            SequenceStore store,
            Outcomes outcomes,
            Drafting drafting,
            EngineCounters counters,
            SamplerScratch scratch,
            TextSide text,
            Stops stops,
            int chunk,
            boolean alone) {
        this.passes = passes;
        this.store = store;
        this.outcomes = outcomes;
        this.drafting = drafting;
        this.counters = counters;
        this.stops = stops;
        this.chunk = chunk;
        this.alone = alone;
        echo = new PromptEcho(text, scratch, outcomes);
    }

    /**
     * The parts of the next pass: as many sequences, oldest first, as fit into one chunk, of which a long prompt leaves a part to those behind it. A suspect one
     * is read alone.
     */
    List<Part> plan(List<Sequence> running) {
        List<Part> parts = new ArrayList<>();
        int rows = 0;
        int behind = 0;
        for (Sequence sequence : running) {
            behind += sequence.reading() && !single(sequence) ? sequence.unread() : 0;
        }
        int endings = 0;
        for (Sequence sequence : running) {
            if (!sequence.reading() || rows == chunk || endings == passes.mostLogitRows()) {
                continue;
            }
            boolean single = single(sequence);
            if (single && !parts.isEmpty()) {
                break;
            }
            int room = chunk - rows;
            if (!single) {
                behind -= sequence.unread();
                room -= Math.min(behind, room / PART_BEHIND);
            }
            int most = echo.wanted(sequence) ? Math.min(chunk, passes.mostLogitRows()) : room;
            int take = Math.min(most, stops.next(sequence) - sequence.past);
            parts.add(new Part(sequence, rows, take, sequence.past, 0));
            rows += take;
            endings += take == sequence.unread() ? 1 : 0;
            if (single) {
                break;
            }
        }
        return parts;
    }

    private boolean single(Sequence sequence) {
        return alone || sequence.suspect || echo.wanted(sequence);
    }

    /**
     * Runs the pass; the pages of all parts are there.
     *
     * @param pause for others between layers
     */
    void run(List<Part> parts, int decoding, Model.Pause pause) {
        boolean echoing = parts.size() == 1 && echo.wanted(parts.getFirst().sequence());
        int[] wanted = echoing ? allRows(parts.getFirst()) : endings(parts);
        passes.read(parts, wanted, pause);
        long now = System.nanoTime();
        int index = 0;
        for (Part part : parts) {
            Sequence sequence = part.sequence();
            sequence.past += part.rows();
            sequence.readTokens += part.rows();
            counters.promptTokensRead.add(part.rows());
            outcomes.progress(sequence, now);
            if (echoing) {
                echo.rows(part, passes.logits());
                index = part.rows() - 1;
            }
            if (sequence.unread() == 0) {
                begin(sequence, index++, now);
            }
            if (!sequence.ended) {
                stops.reached(sequence, store);
            }
        }
        outcomes.flushBeforePass();
        drafting.after(parts, decoding);
    }

    private void begin(Sequence sequence, int row, long now) {
        if (sequence.mostTokens == 0) {
            outcomes.finish(sequence, dev.strata.api.FinishReason.LENGTH, now);
            return;
        }
        try {
            outcomes.token(sequence, sequence.sampler.sample(passes.logits(), row), now);
        } catch (RuntimeException e) {
            outcomes.broken(sequence, e, now);
        }
    }

    private static int[] endings(List<Part> parts) {
        int[] rows = new int[parts.size()];
        int count = 0;
        for (Part part : parts) {
            if (part.rows() == part.sequence().unread()) {
                rows[count++] = part.end() - 1;
            }
        }
        return java.util.Arrays.copyOf(rows, count);
    }

    private static int[] allRows(Part part) {
        int[] rows = new int[part.rows()];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = i;
        }
        return rows;
    }
}
