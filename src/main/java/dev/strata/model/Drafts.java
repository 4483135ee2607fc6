package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs a draft layer: over any number of rows that follow the trunk's, and on from there with the likeliest tokens that it finds itself. Those
 * stay on the backend until the last one is made.
 */
final class Drafts {
    private static final String[] ONE = new String[DraftedTokens.MOST + 1];
    private static final String[] SEVERAL = new String[DraftedTokens.MOST + 1];
    private static final String[] SEVERAL_IN_PLACE = new String[DraftedTokens.MOST + 1];

    static {
        Arrays.setAll(ONE, draft -> "draft " + draft);
        Arrays.setAll(SEVERAL, count -> count + " drafts");
        Arrays.setAll(SEVERAL_IN_PLACE, count -> count + " drafts behind the first rows");
    }

    private final Ops ops;
    private final DraftLayer layer;
    private final OutputHead head;
    private final Tensor trunk;
    private final Tensor source;
    private final Tensor lastStates;
    private final Tensor found;

    /** @param trunk states of the trunk, [maxRows, state columns] */
    Drafts(Workspace workspace, DraftLayer layer, OutputHead head, Tensor trunk) {
        this.ops = workspace.backend().ops();
        this.layer = layer;
        this.head = head;
        this.trunk = trunk;
        this.source = workspace.tensor("draft source", DraftLayer.rows(workspace), trunk.columns());
        this.lastStates = workspace.tensor("last draft states", DraftedTokens.MOST_SEGMENTS, trunk.columns());
        this.found = workspace.tensor("drafts", DraftedTokens.WORDS, 1);
    }

    List<LayerState> states() {
        return layer.states();
    }

    OutputHead head() {
        return head;
    }

    /**
     * As {@link Model#draft}.
     *
     * @param meanwhile as {@link Model#meanwhile}
     */
    void run(Batch batch, int[] sourceRow, int[] logitRows, MemorySegment logits, Runnable meanwhile) {
        int done = 0;
        for (int from = 0; from < batch.rows(); from += source.rows()) {
            int to = Math.min(batch.rows(), from + source.rows());
            int[] wanted = within(logitRows, from, to);
            long rowBytes = 4L * head.vocabulary();
            part(
                    BatchParts.of(batch, from, to),
                    Arrays.copyOfRange(sourceRow, from, to),
                    wanted,
                    logits.asSlice(done * rowBytes, wanted.length * rowBytes),
                    meanwhile);
            done += wanted.length;
        }
    }

    private void part(Batch batch, int[] rows, int[] wanted, MemorySegment logits, Runnable meanwhile) {
        Tensor input = gathered(rows);
        ops.pass("draft", batch, () -> layer.forward(batch, null, input));
        if (wanted.length > 0) {
            meanwhile.run();
            head.some(layer.hidden(layer.state().rows(batch.rows())), wanted, logits);
        }
    }

    private static int[] within(int[] rows, int from, int to) {
        return Arrays.stream(rows)
                .filter(row -> row >= from && row < to)
                .map(row -> row - from)
                .toArray();
    }

    /**
     * As {@link Model#draftAhead}.
     *
     * @param meanwhile as {@link Model#meanwhile}
     */
    void ahead(Batch batch, int[] sourceRow, int most, float least, DraftedTokens drafted, Runnable meanwhile) {
        int segments = batch.segments().size();
        if (segments > DraftedTokens.MOST_SEGMENTS || most < 1 || most > DraftedTokens.MOST) {
            throw new IllegalArgumentException(most + " drafts for " + segments + " sequences; at most "
                    + DraftedTokens.MOST + " for " + DraftedTokens.MOST_SEGMENTS);
        }
        Batch ends = batch;
        int[] rows = sourceRow;
        if (batch.rows() > segments * Batch.MAX_WINDOW) {
            rows = followLeading(batch, sourceRow);
            ends = BatchParts.last(batch);
        }
        if (ops.queuesPasses()) {
            atOnce(ends, rows, most);
            meanwhile.run();
            read(drafted, most);
        } else {
            untilUnlikely(ends, rows, most, least, drafted, meanwhile);
        }
    }

    /** All drafts in one pass. */
    private void atOnce(Batch batch, int[] rows, int most) {
        List<Batch> batches = new ArrayList<>(most);
        batches.add(batch);
        for (int draft = 1; draft < most; draft++) {
            batches.add(BatchParts.behind(batch, draft));
        }
        boolean inPlace = areFirst(rows);
        Tensor input = inPlace ? trunk.rows(rows.length) : gathered(rows);
        ops.passes((inPlace ? SEVERAL_IN_PLACE : SEVERAL)[most], batches, () -> {
            first(batch, input);
            for (int draft = 1; draft < most; draft++) {
                further(batches.get(draft), draft);
            }
        });
    }

    private void untilUnlikely(
            Batch batch, int[] rows, int most, float least, DraftedTokens drafted, Runnable meanwhile) {
        Tensor input = gathered(rows);
        ops.pass(ONE[0], batch, () -> first(batch, input));
        meanwhile.run();
        int made = 1;
        read(drafted, made);
        while (made < most && anyLikely(drafted, batch.segments().size(), least)) {
            Batch behind = BatchParts.behind(batch, made);
            int draft = made;
            ops.pass(ONE[draft], behind, () -> further(behind, draft));
            read(drafted, ++made);
        }
    }

    private static boolean areFirst(int[] rows) {
        for (int i = 0; i < rows.length; i++) {
            if (rows[i] != i) {
                return false;
            }
        }
        return true;
    }

    private Tensor gathered(int[] rows) {
        Tensor input = source.rows(rows.length);
        ops.gatherRows(trunk, rows, input);
        return input;
    }

    /** Shows the layer all rows but the last ones, whose source rows are returned: what remains is short enough to be captured. */
    private int[] followLeading(Batch batch, int[] sourceRow) {
        int[] last = batch.lastRows();
        Batch leading = BatchParts.leading(batch);
        if (leading != null) {
            int[] rows = new int[leading.rows()];
            int next = 0;
            int segment = 0;
            for (int row = 0; row < sourceRow.length; row++) {
                if (row == last[segment]) {
                    segment++;
                } else {
                    rows[next++] = sourceRow[row];
                }
            }
            run(leading, rows, new int[0], MemorySegment.NULL, () -> {});
        }
        return BatchParts.select(sourceRow, last);
    }

    private void first(Batch batch, Tensor input) {
        int segments = batch.segments().size();
        layer.forward(batch, null, input);
        ops.lastRows(layer.state(), batch, lastStates.rows(segments));
        find(lastStates.rows(segments), 0);
    }

    private void further(Batch batch, int draft) {
        int segments = batch.rows();
        Tensor state = draft == 1 ? lastStates : layer.state();
        layer.forward(batch, found.rows(DraftedTokens.tokenAt(draft - 1), segments), state.rows(segments));
        find(layer.state().rows(segments), draft);
    }

    private void find(Tensor states, int draft) {
        head.likeliest(
                layer.hidden(states),
                found.rows(DraftedTokens.tokenAt(draft), states.rows()),
                found.rows(DraftedTokens.probabilityAt(draft), states.rows()));
    }

    private void read(DraftedTokens drafted, int made) {
        ops.read(found, drafted.words(made));
    }

    private static boolean anyLikely(DraftedTokens drafted, int segments, float least) {
        for (int segment = 0; segment < segments; segment++) {
            if (drafted.probability(segment, drafted.made() - 1) >= least) {
                return true;
            }
        }
        return false;
    }
}
