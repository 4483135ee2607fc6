package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Qwen3-MoE, Qwen3-Next, Qwen3.5-MoE and Qwen3.6-MoE: one residual, attention or DeltaNet in every layer, a final norm. What differs
 * between them is data: norms of 1 + w, output gates, shared expert, kinds of layers.
 */
final class PlainTrunk implements Trunk {
    private final Ops ops;
    private final Weight table;
    private final List<PlainLayer> layers;
    private final Tensor finalNorm;
    private final float epsilon;
    private final Tensor residual;
    private final Tensor hidden;

    /** @param hidden receives what the output head (and the draft layer) reads, [maxRows, hidden] */
    PlainTrunk(LayerFactory factory, Weight table, Tensor hidden) {
        Backend backend = factory.workspace().backend();
        Hyperparameters sizes = factory.sizes();
        this.ops = backend.ops();
        this.table = table;
        this.layers = new ArrayList<>();
        for (int layer = 0; layer < sizes.config().layers(); layer++) {
            layers.add(factory.plain(layer));
        }
        this.finalNorm = backend.parameter(factory.weights().parameter(Role.FINAL_NORM, 0, 1, sizes.hidden()));
        this.epsilon = sizes.config().normEpsilon();
        this.residual = factory.workspace().tensor("residual", sizes.hidden());
        this.hidden = hidden;
    }

    @Override
    public void prepare(Batch batch) {}

    @Override
    public boolean foresees() {
        return true;
    }

    @Override
    public void forward(Batch batch, @Nullable Tensor tokens, Runnable betweenLayers) {
        Tensor x = residual.rows(batch.rows());
        ops.embed(table, batch, tokens, x);
        for (PlainLayer layer : layers) {
            layer.forward(x, batch);
            betweenLayers.run();
        }
        ops.rmsNorm(x, finalNorm, x.columns(), epsilon, hidden.rows(batch.rows()));
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
        return layers.stream().flatMap(layer -> layer.states().stream()).toList();
    }
}
