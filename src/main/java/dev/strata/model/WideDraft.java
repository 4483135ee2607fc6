package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The draft layer of {@code qwen4_exp}: every residual stream of the trunk, normed and projected, plus the projected embedding; one
 * attention layer with its own experts; its own final module. Its streams feed the next draft. Attention is dense, which is the same
 * as block-sparse attention as long as the context fits the selector's budget.
 */
final class WideDraft implements DraftLayer {
    private final DraftFusion fusion;
    private final WideLayer layer;
    private final HyperBlock last;
    private final Tensor residual;
    private final Tensor hidden;

    WideDraft(LayerFactory factory, Hyperparameters.Hyper hyper, Weight table) {
        Hyperparameters sizes = factory.sizes();
        int index = sizes.config().layers();
        this.fusion = DraftFusion.create(
                factory.workspace(),
                factory.weights(),
                index,
                sizes,
                table,
                factory.options().hiddenNorm());
        this.layer = factory.wide(index, hyper, false);
        this.last = HyperBlock.create(
                factory.workspace(),
                factory.weights(),
                index,
                sizes,
                hyper,
                Role.DRAFT_HYPER_NORM,
                Role.DRAFT_HYPER_DOWN,
                Role.DRAFT_HYPER_UP,
                null);
        this.residual = factory.workspace()
                .tensor("draft streams", DraftLayer.rows(factory.workspace()), hyper.streams() * sizes.hidden());
        this.hidden = factory.workspace().tensor("draft hidden", DraftLayer.rows(factory.workspace()), sizes.hidden());
    }

    @Override
    public void forward(Batch batch, @Nullable Tensor tokens, Tensor source) {
        Tensor streamRows = residual.rows(batch.rows());
        fusion.forward(batch, tokens, source, streamRows);
        layer.forward(streamRows, batch);
    }

    @Override
    public Tensor state() {
        return residual;
    }

    @Override
    public Tensor hidden(Tensor states) {
        Tensor rows = hidden.rows(states.rows());
        last.mix(states, rows);
        return rows;
    }

    @Override
    public List<LayerState> states() {
        return layer.states();
    }
}
