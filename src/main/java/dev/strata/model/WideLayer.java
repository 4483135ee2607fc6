package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Tensor;
import java.util.List;

/** One decoder layer over several residual streams: gated residual modules take the place of norms and adds. */
final class WideLayer {
    private final HyperBlock mixerResidual;
    private final HyperBlock expertResidual;
    private final MixerBlock mixer;
    private final ExpertBlock experts;
    private final Tensor input;
    private final Tensor output;

    WideLayer(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            Hyperparameters.Hyper hyper,
            MixerBlock mixer,
            ExpertBlock experts) {
        this.mixerResidual = HyperBlock.create(
                workspace,
                weights,
                layer,
                sizes,
                hyper,
                Role.HYPER_ATTENTION_NORM,
                Role.HYPER_ATTENTION_DOWN,
                Role.HYPER_ATTENTION_UP,
                Role.HYPER_ATTENTION_INJECT);
        this.expertResidual = HyperBlock.create(
                workspace,
                weights,
                layer,
                sizes,
                hyper,
                Role.HYPER_MLP_NORM,
                Role.HYPER_MLP_DOWN,
                Role.HYPER_MLP_UP,
                Role.HYPER_MLP_INJECT);
        this.mixer = mixer;
        this.experts = experts;
        this.input = workspace.tensor("block input", sizes.hidden());
        this.output = workspace.tensor("block output", sizes.hidden());
    }

    /** Updates the residual streams [rows, streams * hidden] in place. */
    void forward(Tensor residual, Batch batch) {
        Tensor x = input.rows(residual.rows());
        Tensor y = output.rows(residual.rows());
        mixerResidual.mix(residual, x);
        mixer.forward(NormedRows.plain(x), batch, y, mixerResidual.injection(residual));
        expertResidual.mix(residual, x);
        experts.forward(NormedRows.plain(x), y, expertResidual.injection(residual));
    }

    List<LayerState> states() {
        return mixer.states();
    }
}
