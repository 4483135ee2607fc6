package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Qwen3.8-Flash-Next ({@code qwen4_exp}): four residual streams that start as copies of the embedding, gated residual modules instead
 * of norms, a hashed n-gram layer, DeltaNet and block-sparse attention.
 */
final class WideTrunk implements Trunk {
    private final Ops ops;
    private final Weight table;
    private final List<WideLayer> layers;
    private final @Nullable NgramBlock ngram;
    private final int ngramLayer;
    private final HyperBlock last;
    private final int streams;
    private final Tensor embedded;
    private final Tensor residual;
    private final Tensor hidden;

    /**
     * @param ngram absent in models without the n-gram layer
     * @param residual the streams, [maxRows, streams * hidden]; the draft layer reads them after a pass
     */
    WideTrunk(
            LayerFactory factory,
            Hyperparameters.Hyper hyper,
            Weight table,
            @Nullable NgramBlock ngram,
            Tensor residual) {
        Hyperparameters sizes = factory.sizes();
        Workspace workspace = factory.workspace();
        this.ops = workspace.backend().ops();
        this.table = table;
        this.ngram = ngram;
        this.ngramLayer = sizes.ngram() == null ? -1 : sizes.ngram().layer();
        this.layers = new ArrayList<>();
        for (int layer = 0; layer < sizes.config().layers(); layer++) {
            layers.add(factory.wide(layer, hyper, true));
        }
        this.last = HyperBlock.create(
                workspace,
                factory.weights(),
                0,
                sizes,
                hyper,
                Role.HYPER_FINAL_NORM,
                Role.HYPER_FINAL_DOWN,
                Role.HYPER_FINAL_UP,
                null);
        this.streams = hyper.streams();
        this.embedded = workspace.tensor("block input", sizes.hidden());
        this.residual = residual;
        this.hidden = workspace.tensor("hidden", sizes.hidden());
    }

    @Override
    public void prepare(Batch batch) {
        if (ngram != null) {
            ngram.prepare(batch);
        }
    }

    @Override
    public void request(int[] tokens, int count) {
        if (ngram != null) {
            ngram.request(tokens, count);
        }
    }

    @Override
    public void expect(int[] tokens, int from, int to) {
        if (ngram != null) {
            ngram.expect(tokens, from, to);
        }
    }

    @Override
    public void close() {
        if (ngram != null) {
            ngram.close();
        }
    }

    @Override
    public boolean foresees() {
        // Table rows are hashed from the tokens before.
        return ngram == null;
    }

    @Override
    public void forward(Batch batch, @Nullable Tensor tokens, Runnable betweenLayers) {
        Tensor streamRows = residual.rows(batch.rows());
        ops.embed(table, batch, tokens, embedded.rows(batch.rows()));
        ops.repeat(embedded.rows(batch.rows()), streams, streamRows);
        for (int i = 0; i < layers.size(); i++) {
            if (ngram != null && i == ngramLayer) {
                ngram.forward(streamRows, batch);
            }
            layers.get(i).forward(streamRows, batch);
            betweenLayers.run();
        }
        last.mix(streamRows, hidden.rows(batch.rows()));
    }

    @Override
    public Tensor residual() {
        return residual;
    }

    @Override
    public Tensor hidden() {
        return hidden;
    }

    @Override
    public List<LayerState> states() {
        List<LayerState> states = new ArrayList<>();
        layers.forEach(layer -> states.addAll(layer.states()));
        if (ngram != null) {
            states.add(ngram.state());
        }
        return states;
    }
}
