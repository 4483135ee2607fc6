package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * Runs a draft layer over any number of rows. The states of the rows whose logits were asked for are kept before those of the
 * trunk, so that the next call can continue from them.
 */
final class Drafts {
    /** Rows whose states are kept from one call to the next. */
    static final int KEPT = 256;

    private final Ops ops;
    private final DraftLayer layer;
    private final OutputHead head;
    private final Tensor fusable;
    private final Tensor source;
    private int[] kept = {};

    /**
     * @param fusable {@value #KEPT} rows for the states of drafts, then those of the trunk [maxRows, state columns]
     */
    Drafts(Workspace workspace, DraftLayer layer, OutputHead head, Tensor fusable) {
        this.ops = workspace.backend().ops();
        this.layer = layer;
        this.head = head;
        this.fusable = fusable;
        this.source = workspace.tensor("draft source", DraftLayer.rows(workspace), fusable.columns());
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
        if (logitRows.length > KEPT) {
            throw new IllegalArgumentException(
                    "logits of " + logitRows.length + " draft rows; at most " + KEPT + " at a time");
        }
        int[] rows = fusableRows(sourceRow);
        if (batch.rows() > source.rows() && Arrays.stream(sourceRow).anyMatch(row -> row < 0)) {
            throw new IllegalArgumentException("a call of " + batch.rows() + " rows cannot continue drafts");
        }
        int done = 0;
        for (int from = 0; from < batch.rows(); from += source.rows()) {
            int to = Math.min(batch.rows(), from + source.rows());
            int[] wanted = within(logitRows, from, to);
            long rowBytes = 4L * head.vocabulary();
            part(
                    BatchParts.of(batch, from, to),
                    Arrays.copyOfRange(rows, from, to),
                    wanted,
                    done,
                    logits.asSlice(done * rowBytes, wanted.length * rowBytes),
                    meanwhile);
            done += wanted.length;
        }
        kept = logitRows.clone();
    }

    private void part(
            Batch batch, int[] rows, int[] wanted, int keptBefore, MemorySegment logits, Runnable meanwhile) {
        Tensor input = source.rows(batch.rows());
        ops.gatherRows(fusable, rows, input);
        boolean whole = head.takesAll(wanted, batch.rows());
        ops.pass(whole ? "draft with logits" : "draft", batch, () -> {
            layer.forward(batch, input);
            if (whole) {
                head.all(layer.hidden().rows(batch.rows()));
            }
        });
        if (wanted.length > 0) {
            ops.gatherRows(layer.state(), wanted, fusable.rows(keptBefore, wanted.length));
            meanwhile.run();
        }
        if (whole) {
            head.read(batch.rows(), logits);
        } else {
            head.some(layer.hidden(), wanted, logits);
        }
    }

    private static int[] within(int[] rows, int from, int to) {
        return Arrays.stream(rows)
                .filter(row -> row >= from && row < to)
                .map(row -> row - from)
                .toArray();
    }

    /** Trunk rows as they are; draft rows by their place among the kept ones. */
    private int[] fusableRows(int[] sourceRow) {
        int[] rows = new int[sourceRow.length];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = KEPT + sourceRow[i];
            if (sourceRow[i] < 0) {
                int place = Arrays.binarySearch(kept, -1 - sourceRow[i]);
                if (place < 0) {
                    throw new IllegalArgumentException("draft row " + (-1 - sourceRow[i])
                            + " cannot be continued: the last draft call gave no logits of it");
                }
                rows[i] = place;
            }
        }
        return rows;
    }
}
