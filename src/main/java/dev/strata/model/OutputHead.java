package dev.strata.model;

import dev.strata.device.Ops;
import dev.strata.device.Picks;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Turns hidden states into logits, a bounded number of rows at a time so that long prompts need no vocabulary-wide buffer. */
final class OutputHead {
    /** Rows whose logits lie on the backend at once. */
    static final int CHUNK = 64;

    private final Ops ops;
    private final Weight weight;
    private final Tensor picked;
    private final Tensor logits;
    private final @Nullable Picking picking;
    /** The settings that lie on the backend. */
    private final MemorySegment last;

    OutputHead(Workspace workspace, Weight weight) {
        int rows = Math.min(CHUNK, workspace.maxRows());
        this.ops = workspace.backend().ops();
        this.weight = weight;
        this.picked = workspace.tensor("picked hidden states", rows, weight.inputs());
        this.logits = workspace.tensor("logits", rows, weight.outputs());
        this.picking = ops.picks(weight.outputs())
                ? new Picking(
                        workspace.tensor("settings of picks", rows, Picks.SETTINGS),
                        workspace.tensor("picks", rows, Picks.COLUMNS),
                        workspace.tensor("picked tokens", rows, 1))
                : null;
        this.last = MemorySegment.ofArray(new float[rows * Picks.SETTINGS]);
    }

    /** What {@link Ops#pick} reads and writes. */
    private record Picking(Tensor settings, Tensor results, Tensor tokens) {}

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

    /** Whether {@link #pick} is there. */
    boolean picks() {
        return picking != null;
    }

    /** Hands over what {@link #pick} is to do with each row. */
    void prepare(MemorySegment wanted) {
        if (picking != null && wanted.mismatch(last.asSlice(0, wanted.byteSize())) >= 0) {
            last.copyFrom(wanted);
            ops.write(last, picking.settings);
        }
    }

    /** Issues the product for all rows of {@code hidden} and sums the logits up; may be part of a captured pass. */
    void pick(Tensor hidden) {
        Picking to = picking;
        if (to == null) {
            throw new IllegalStateException("logits are read as a whole here");
        }
        int rows = hidden.rows();
        all(hidden);
        ops.pick(logits.rows(rows), to.settings.rows(rows), to.results.rows(rows), to.tokens.rows(rows));
    }

    /** The tokens that {@link #pick} chose, [rows, 1]. */
    Tensor tokens(int rows) {
        return Objects.requireNonNull(picking).tokens.rows(rows);
    }

    /** Lets what {@link #pick} found out come to the host while passes go on. */
    void fetchPicks(int rows) {
        ops.fetch(Objects.requireNonNull(picking).results.rows(rows));
    }

    /** Issues the product for all rows of {@code hidden} and finds their likeliest tokens; may be part of a captured pass. */
    void likeliest(Tensor hidden, Tensor tokens, Tensor probabilities) {
        all(hidden);
        ops.likeliest(logits.rows(hidden.rows()), tokens, probabilities);
    }

    /** Reads what {@link #pick} found out. */
    void readPicks(int rows, MemorySegment target) {
        if (picking != null) {
            ops.read(picking.results.rows(rows), target);
        }
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
