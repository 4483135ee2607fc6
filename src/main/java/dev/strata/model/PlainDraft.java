package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The draft layer of Qwen3-Next, 3.5 and 3.6: fused input, one attention layer with its own experts, its own final norm. */
final class PlainDraft implements DraftLayer {
    private final Ops ops;
    private final DraftFusion fusion;
    private final PlainLayer layer;
    private final Tensor finalNorm;
    private final float epsilon;
    private final Tensor residual;
    private final Tensor hidden;

    PlainDraft(LayerFactory factory, Weight table) {
        Backend backend = factory.workspace().backend();
        Hyperparameters sizes = factory.sizes();
        int index = sizes.config().layers();
        this.ops = backend.ops();
        this.fusion = DraftFusion.create(
                factory.workspace(),
                factory.weights(),
                index,
                sizes,
                table,
                factory.options().hiddenNorm());
        this.layer = factory.plain(index);
        this.finalNorm =
                backend.parameter(factory.weights().parameter(Role.DRAFT_FINAL_NORM, index, 1, sizes.hidden()));
        this.epsilon = sizes.config().normEpsilon();
        this.residual = factory.workspace().tensor("residual", sizes.hidden());
        this.hidden = factory.workspace().tensor("draft hidden", DraftLayer.rows(factory.workspace()), sizes.hidden());
    }

    @Override
    public void forward(Batch batch, @Nullable Tensor tokens, Tensor source) {
        Tensor x = residual.rows(batch.rows());
        fusion.forward(batch, tokens, source, x);
        layer.forward(x, batch);
        ops.rmsNorm(x, finalNorm, x.columns(), epsilon, hidden.rows(batch.rows()));
    }

    @Override
    public Tensor state() {
        return hidden;
    }

    @Override
    public Tensor hidden(Tensor states) {
        return states;
    }

    @Override
    public List<LayerState> states() {
        return layer.states();
    }
}
