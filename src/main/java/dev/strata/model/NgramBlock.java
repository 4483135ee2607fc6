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
    static final int LEAST_AHEAD = 256;

    private final Ops ops;
    private final NgramWeights weights;
    private final NgramRows rows;
    private final NgramTable table;
    private final LayerState.Ngram state;
    private final Tensor embedding;
    private final MemorySegment staging;
    private final NgramAhead ahead;

    private NgramBlock(
            Workspace workspace,
            NgramWeights weights,
            NgramRows rows,
            NgramTable table,
            LayerState.Ngram state,
            int columns,
            MemorySegment staging,
            NgramAhead ahead) {
        this.ops = workspace.backend().ops();
        this.weights = weights;
        this.rows = rows;
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
        NgramRows rows = new NgramRows(new NgramHash(
                ngram.multipliers(), ngram.offsets(), ngram.sizes(), ngram.headsPerSize(), ngram.endToken()));
        int most = options.maxRows();
        long rowBytes = 4L * ngram.columns();
        return new NgramBlock(
                workspace,
                parameters,
                rows,
                table,
                backend.ngram(parameters, options.slots()),
                ngram.columns(),
                weights.arena().allocate(rowBytes * Math.min(most, LEAST_AHEAD), 64),
                new NgramAhead(
                        table,
                        rows,
                        LEAST_AHEAD,
                        most,
                        () -> weights.arena().allocate(rowBytes * (most + NgramAhead.SLACK), 64)));
    }

    /**
     * Sees to it that the table rows of all tokens of the pass come; is called before the operations of the pass. Few are read now, since
     * such a pass may be a captured one; many on another thread, until the layer needs them.
     */
    void prepare(Batch batch) {
        if (batch.rows() >= LEAST_AHEAD) {
            ahead.begin(batch);
            ops.awaitInput(embedding.rows(batch.rows()));
            return;
        }
        long[] wanted = rows.of(batch);
        table.read(wanted, wanted.length, staging);
        bring(staging, batch);
    }

    private void bring(MemorySegment values, Batch batch) {
        Tensor target = embedding.rows(batch.rows());
        ops.writeInput(values.asSlice(0, 4L * target.rows() * target.columns()), target);
    }

    /** A text has come: its first {@code count} tokens will be read when its turn comes. Any thread. */
    void request(int[] tokens, int count) {
        if (count >= LEAST_AHEAD) {
            ahead.request(tokens, count);
        }
    }

    /** Positions of a text will be read soon. */
    void expect(int[] tokens, int from, int to) {
        ahead.expect(tokens, from, to);
    }

    void close() {
        ahead.close();
    }

    void forward(Tensor residual, Batch batch) {
        if (batch.rows() >= LEAST_AHEAD) {
            bring(ahead.take(batch), batch);
            ahead.end(batch);
        }
        ops.ngram(weights, embedding.rows(residual.rows()), residual, state, batch);
    }

    LayerState.Ngram state() {
        return state;
    }
}
