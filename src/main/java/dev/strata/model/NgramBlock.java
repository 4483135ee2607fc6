package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.model.ngram.NgramHash;
import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.MemorySegment;

/** The hashed n-gram layer: looks the rows of every token up on the host, the backend adds them to the residual streams. */
final class NgramBlock {
    /** Rows of the smallest pass that is worth a hand-over to another thread. */
    private static final int LEAST_AHEAD = 64;

    private final Ops ops;
    private final NgramWeights weights;
    private final NgramHash hash;
    private final NgramTable table;
    private final LayerState.Ngram state;
    private final Tensor embedding;
    private final MemorySegment staging;
    private final NgramAhead ahead;

    private NgramBlock(
            Workspace workspace,
            NgramWeights weights,
            NgramHash hash,
            NgramTable table,
            LayerState.Ngram state,
            int columns,
            MemorySegment staging,
            NgramAhead ahead) {
        this.ops = workspace.backend().ops();
        this.weights = weights;
        this.hash = hash;
        this.table = table;
        this.state = state;
        this.embedding = workspace.tensor("n-gram embedding", columns);
        this.staging = staging;
        this.ahead = ahead;
    }

    static NgramBlock create(
            Workspace workspace,
            Weights weights,
            Hyperparameters sizes,
            Hyperparameters.Hyper hyper,
            Hyperparameters.Ngram ngram,
            NgramTable table,
            ModelOptions options) {
        Backend backend = workspace.backend();
        int layer = ngram.layer();
        int hidden = sizes.hidden();
        int columns = hyper.streams() * hidden;
        NgramWeights parameters = new NgramWeights(
                hyper.streams(),
                backend.weight(weights.matrix(Role.NGRAM_KEY, layer, columns, ngram.columns())),
                backend.weight(weights.matrix(Role.NGRAM_VALUE, layer, hidden, ngram.columns())),
                backend.parameter(weights.parameter(Role.NGRAM_KEY_NORM, layer, 1, columns)),
                backend.parameter(weights.parameter(Role.NGRAM_QUERY_NORM, layer, 1, columns)),
                backend.parameter(weights.parameter(Role.NGRAM_CONVOLUTION_NORM, layer, 1, columns)),
                backend.parameter(weights.parameter(Role.NGRAM_CONVOLUTION, layer, columns, ngram.kernel())),
                ngram.kernel(),
                ngram.size(),
                sizes.config().normEpsilon());
        long bytes = 4L * options.maxRows() * ngram.columns();
        return new NgramBlock(
                workspace,
                parameters,
                new NgramHash(
                        ngram.multipliers(), ngram.offsets(), ngram.sizes(), ngram.headsPerSize(), ngram.endToken()),
                table,
                backend.ngram(parameters, options.slots()),
                ngram.columns(),
                weights.arena().allocate(bytes, 64),
                new NgramAhead(table, () -> weights.arena().allocate(bytes, 64)));
    }

    /** Reads the table rows of all tokens of the pass; comes before the operations of the pass. */
    void prepare(Batch batch) {
        int heads = hash.heads();
        long[] rows = new long[batch.rows() * heads];
        for (Batch.Segment segment : batch.segments()) {
            int[] history = segment.history();
            int known = Math.min(history.length, hash.historyTokens());
            int[] tokens = new int[known + segment.rows()];
            System.arraycopy(history, history.length - known, tokens, 0, known);
            System.arraycopy(batch.tokens(), segment.firstRow(), tokens, known, segment.rows());
            for (int i = 0; i < segment.rows(); i++) {
                hash.rows(tokens, known + i, rows, (segment.firstRow() + i) * heads);
            }
        }
        MemorySegment read = batch.rows() < LEAST_AHEAD ? null : ahead.take(rows);
        if (read == null) {
            table.read(rows, rows.length, staging);
            read = staging;
        }
        Tensor target = embedding.rows(batch.rows());
        ops.writeInput(read.asSlice(0, 4L * target.rows() * target.columns()), target);
        if (batch.rows() >= LEAST_AHEAD) {
            ahead.start(this::rows, batch.rows());
        }
    }

    private long[] rows(int[] tokens, int from, int to) {
        int heads = hash.heads();
        long[] rows = new long[Math.max(0, to - from) * heads];
        for (int position = from; position < to; position++) {
            hash.rows(tokens, position, rows, (position - from) * heads);
        }
        return rows;
    }

    /** Lets the table fetch the rows of tokens that will be read soon. */
    void expect(int[] tokens, int from, int to) {
        long[] rows = rows(tokens, from, to);
        table.expect(rows, rows.length);
        ahead.expect(tokens, from, to);
    }

    void close() {
        ahead.close();
    }

    void forward(Tensor residual, Batch batch) {
        ops.ngram(weights, embedding.rows(residual.rows()), residual, state, batch);
    }

    LayerState.Ngram state() {
        return state;
    }
}
