package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.device.Picks;
import dev.strata.model.DraftedTokens;
import dev.strata.model.Model;
import dev.strata.sampling.LogitsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Builds and runs passes of the model. Owns the memory for their logits. Used by the step loop alone. */
final class Passes implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Passes.class);
    private static final int[] NO_ROWS = new int[0];

    private final Model model;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment logits;
    private final MemorySegment settings;
    private final MemorySegment results;
    private final Picks picks;
    private final DraftedTokens drafted = new DraftedTokens();
    private final int logitRows;
    /** Whether the logits of the last pass still lie on the backend. */
    private boolean picked;

    private int pickedRows;
    /** Steps that were begun and not ended. */
    private int begun;

    /** @param logitRows most rows of logits that one pass may ask for */
    Passes(Model model, int logitRows) {
        this.model = model;
        this.logitRows = logitRows;
        logits = arena.allocate(4L * logitRows * model.config().vocabulary(), 64);
        settings = arena.allocate(4L * logitRows * Picks.SETTINGS, 64);
        results = arena.allocate(4L * logitRows * Picks.COLUMNS, 64);
        picks = new Picks(results);
    }

    /** Logits of the last pass, [rows asked for, vocabulary]. */
    MemorySegment logits() {
        if (begun > 0) {
            // Those of the next step are there by now; only logits that are no numbers are ever missed.
            throw new LogitsException("the model gave logits that are not finite");
        }
        if (picked) {
            model.logits(pickedRows, logits);
            picked = false;
        }
        return logits;
    }

    /** Whether {@link #begin} is there. */
    boolean foresees() {
        return model.foresees();
    }

    /**
     * Begins a step of parts of one row each; {@link #end} waits for it.
     *
     * @param behind the step begun before, of the same parts, chooses the tokens; they are not known yet
     */
    void begin(List<Part> parts, boolean behind) {
        int rows = rows(parts);
        int[] tokens = new int[rows];
        for (Part part : parts) {
            Sequence sequence = part.sequence();
            tokens[part.firstRow()] = behind ? 0 : sequence.tokens()[part.past()];
            sequence.sampler.pickSettings(behind ? 1 : 0, settings, part.firstRow());
        }
        Batch batch = new Batch(tokens, segments(parts), false);
        model.beginPicked(batch, settings.asSlice(0, 4L * rows * Picks.SETTINGS), behind);
        begun++;
        pickedRows = rows;
    }

    /** Waits for the step that was begun first. */
    void end() {
        begun--;
        picked = true;
        model.endPicked(pickedRows, results);
    }

    /** Waits for all steps that were begun, whatever comes of them. */
    void drop() {
        while (begun > 0) {
            try {
                end();
            } catch (RuntimeException e) {
                LOG.debug("a step that nobody waits for failed", e);
            }
        }
    }

    /** The token that follows row {@code row} of the last pass. */
    int sample(Sequence sequence, int row) {
        int token = picked ? sequence.sampler.sample(picks, row) : -1;
        return token >= 0 ? token : sequence.sampler.sample(logits(), row);
    }

    int mostLogitRows() {
        return logitRows;
    }

    /**
     * Reads the parts' next tokens.
     *
     * @param pause for others between layers
     */
    Batch read(List<Part> parts, int[] wanted, Model.Pause pause) {
        int rows = rows(parts);
        int[] tokens = new int[rows];
        for (Part part : parts) {
            System.arraycopy(part.sequence().tokens(), part.past(), tokens, part.firstRow(), part.rows());
        }
        Batch batch = new Batch(tokens, segments(parts), false);
        model.forward(batch, wanted, logits, pause);
        picked = false;
        return batch;
    }

    /** Reads every part's last token and its drafts; states are held when there are drafts. */
    Batch verify(List<Part> parts) {
        int rows = rows(parts);
        int[] tokens = new int[rows];
        int[] all = new int[rows];
        boolean hold = false;
        for (Part part : parts) {
            Sequence sequence = part.sequence();
            tokens[part.firstRow()] = sequence.tokens()[part.past()];
            System.arraycopy(sequence.drafts, 0, tokens, part.firstRow() + 1, part.drafts());
            hold |= part.drafts() > 0;
        }
        for (int i = 0; i < rows; i++) {
            all[i] = i;
        }
        Batch batch = new Batch(tokens, segments(parts), hold);
        picked = model.picks()
                && parts.stream().allMatch(part -> part.sequence().sampler.picks());
        pickedRows = rows;
        if (picked) {
            for (Part part : parts) {
                for (int i = 0; i < part.rows(); i++) {
                    part.sequence().sampler.pickSettings(i, settings, part.firstRow() + i);
                }
            }
            model.forwardPicked(batch, settings.asSlice(0, 4L * rows * Picks.SETTINGS), results);
        } else {
            model.forward(batch, all, logits);
        }
        return batch;
    }

    /** Shows the draft layer the tokens that follow the trunk's rows. */
    void follow(DraftRows rows) {
        picked = false;
        model.draft(
                new Batch(rows.tokens(), segments(rows.parts()), false),
                rows.sourceRows(),
                NO_ROWS,
                MemorySegment.NULL);
    }

    /** As {@link #follow}, and makes {@code most} drafts for every part, fewer when none is as likely as {@code least}. */
    DraftedTokens draft(DraftRows rows, int most, float least) {
        picked = false;
        Batch batch = new Batch(rows.tokens(), segments(rows.parts(), most - 1), false);
        model.draftAhead(batch, rows.sourceRows(), most, least, drafted);
        return drafted;
    }

    static int[] noRows() {
        return NO_ROWS;
    }

    private static int rows(List<Part> parts) {
        return parts.getLast().end();
    }

    private static List<Batch.Segment> segments(List<Part> parts) {
        return segments(parts, 0);
    }

    /** @param further positions behind the parts' rows that their pages have to reach */
    private static List<Batch.Segment> segments(List<Part> parts, int further) {
        List<Batch.Segment> segments = new ArrayList<>(parts.size());
        for (Part part : parts) {
            Sequence sequence = part.sequence();
            segments.add(new Batch.Segment(
                    part.firstRow(),
                    part.rows(),
                    part.past(),
                    sequence.pageTable(part.past() + part.rows() + further),
                    sequence.slot,
                    sequence.history(part.past())));
        }
        return segments;
    }

    @Override
    public void close() {
        arena.close();
    }
}
