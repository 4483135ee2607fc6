package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Residual;
import dev.strata.device.Tensor;
import java.util.List;

/** One decoder layer with a plain residual: norm, mixer, add; norm, experts, add. */
final class PlainLayer {
    private final Tensor inputNorm;
    private final Tensor secondNorm;
    private final MixerBlock mixer;
    private final ExpertBlock experts;
    private final float epsilon;
    private final Tensor normed;
    private final Tensor output;

    PlainLayer(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            MixerBlock mixer,
            ExpertBlock experts) {
        Backend backend = workspace.backend();
        int hidden = sizes.hidden();
        this.inputNorm = backend.parameter(weights.parameter(Role.INPUT_NORM, layer, 1, hidden));
        this.secondNorm = backend.parameter(weights.parameter(Role.SECOND_NORM, layer, 1, hidden));
        this.mixer = mixer;
        this.experts = experts;
        this.epsilon = sizes.config().normEpsilon();
        this.normed = workspace.tensor("block input", hidden);
        this.output = workspace.tensor("block output", hidden);
    }

    /** Updates the residual {@code x} [rows, hidden] in place. */
    void forward(Tensor x, Batch batch) {
        int rows = x.rows();
        Tensor h = normed.rows(rows);
        Tensor y = output.rows(rows);
        Residual residual = Residual.plain(x);
        mixer.forward(new NormedRows(x, inputNorm, epsilon, h), batch, y, residual);
        experts.forward(new NormedRows(x, secondNorm, epsilon, h), y, residual);
    }

    List<LayerState> states() {
        return mixer.states();
    }
}
