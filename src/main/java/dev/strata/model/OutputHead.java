package dev.strata.model;

import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Turns hidden states into logits, a bounded number of rows at a time so that long prompts need no vocabulary-wide buffer. */
final class OutputHead {
    /** Rows whose logits lie on the backend at once. */
    static final int CHUNK = 64;

    private final Ops ops;
    private final Weight weight;
    private final Tensor picked;
    private final Tensor logits;

    OutputHead(Workspace workspace, Weight weight) {
        int rows = Math.min(CHUNK, workspace.maxRows());
        this.ops = workspace.backend().ops();
        this.weight = weight;
        this.picked = workspace.tensor("picked hidden states", rows, weight.inputs());
        this.logits = workspace.tensor("logits", rows, weight.outputs());
    }

    /** Whether {@link #all} can take the rows: the first {@code rows.length} of a pass, within one chunk. */
    boolean takesAll(int[] rows, int passRows) {
        if (rows.length != passRows || rows.length > logits.rows()) {
            return false;
        }
        for (int i = 0; i < rows.length; i++) {
            if (rows[i] != i) {
                return false;
            }
        }
        return true;
    }

    /** Issues the product for all rows of {@code hidden}; may be part of a captured pass. */
    void all(Tensor hidden) {
        ops.matmul(weight, hidden, logits.rows(hidden.rows()));
    }

    /** Reads what {@link #all} computed. */
    void read(int rows, MemorySegment target) {
        ops.read(logits.rows(rows), target);
    }

    /** Logits of the rows {@code rows} of {@code hidden}, [rows.length, vocabulary], to {@code target}. */
    void some(Tensor hidden, int[] rows, MemorySegment target) {
        for (int from = 0; from < rows.length; from += logits.rows()) {
            int count = Math.min(logits.rows(), rows.length - from);
            int[] chunk = Arrays.copyOfRange(rows, from, from + count);
            ops.gatherRows(hidden, chunk, picked.rows(count));
            all(picked.rows(count));
            long rowBytes = 4L * weight.outputs();
            ops.read(logits.rows(count), target.asSlice(from * rowBytes, count * rowBytes));
        }
    }

    int vocabulary() {
        return weight.outputs();
    }
}
