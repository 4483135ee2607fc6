package dev.strata.model;

import dev.strata.device.AttentionShape;
import dev.strata.device.DeltaShape;
import dev.strata.device.ExpertLayer;
import dev.strata.device.Routing;
import dev.strata.model.Hyperparameters.Mixer;
import dev.strata.model.Workspace.Region;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Makes the blocks of layers from a model's weights. */
final class LayerFactory {
    private final Workspace workspace;
    private final Weights weights;
    private final Hyperparameters sizes;
    private final ModelOptions options;
    private final IntFunction<ExpertLayer> experts;
    private final Routing routing;
    private @Nullable ExpertBlock last;

    LayerFactory(
            Workspace workspace,
            Weights weights,
            Hyperparameters sizes,
            ModelOptions options,
            IntFunction<ExpertLayer> experts) {
        this.workspace = workspace;
        this.weights = weights;
        this.sizes = sizes;
        this.options = options;
        this.experts = experts;
        reserveMixers();
        this.routing =
                workspace.backend().routing(options.maxRows(), sizes.experts().used());
    }

    private void reserveMixers() {
        AttentionShape attention = sizes.attention();
        DeltaShape delta = sizes.delta();
        int channels = delta == null ? 0 : delta.channels();
        int values = delta == null ? 0 : delta.valueColumns();
        workspace.reserve(Region.MIXER_INPUT, Math.max(attention.projectedColumns(), channels));
        workspace.reserve(Region.MIXER_RESULT, Math.max(attention.queryColumns(), values));
        int gates = Math.max(attention.outputGate() ? attention.queryColumns() : 0, values);
        if (gates > 0) {
            workspace.reserve(Region.MIXER_GATES, gates);
        }
    }

    Workspace workspace() {
        return workspace;
    }

    Weights weights() {
        return weights;
    }

    Hyperparameters sizes() {
        return sizes;
    }

    ModelOptions options() {
        return options;
    }

    /** The layer's mixer; {@code sparse} attention layers choose blocks where the model has a selector. */
    MixerBlock mixer(int layer, boolean sparse) {
        DeltaShape delta = sizes.delta();
        return delta != null && sizes.mixers().get(layer) == Mixer.DELTA_NET
                ? DeltaNetBlock.create(workspace, weights, layer, delta, sizes.hidden(), options)
                : AttentionBlock.create(workspace, weights, layer, sizes, options, sparse);
    }

    ExpertBlock experts(int layer) {
        ExpertBlock made = ExpertBlock.create(workspace, weights, layer, sizes, experts.apply(layer), routing);
        ExpertBlock before = last;
        if (before != null && layer < sizes.config().layers()) {
            before.lookAheadTo(made, workspace);
        }
        last = made;
        return made;
    }

    PlainLayer plain(int layer) {
        return new PlainLayer(workspace, weights, layer, sizes, mixer(layer, false), experts(layer));
    }

    WideLayer wide(int layer, Hyperparameters.Hyper hyper, boolean sparse) {
        return new WideLayer(workspace, weights, layer, sizes, hyper, mixer(layer, sparse), experts(layer));
    }
}
