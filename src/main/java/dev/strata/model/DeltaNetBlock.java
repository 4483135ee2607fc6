package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Ops;
import dev.strata.device.Residual;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.model.Workspace.Region;
import java.util.List;

/** Gated DeltaNet: projections, convolution, the gated delta rule, gated norm, output projection. */
final class DeltaNetBlock implements MixerBlock {
    private final Ops ops;
    private final DeltaShape shape;
    /** Convolution channels, output gates, beta, alpha. */
    private final Weight[] inputs;

    private final Weight output;
    private final DeltaWeights small;
    private final LayerState.Recurrent state;
    private final Tensor projected;
    private final Tensor gates;
    private final Tensor betas;
    private final Tensor alphas;
    private final Tensor result;

    private DeltaNetBlock(
            Workspace workspace, Weights weights, int layer, DeltaShape shape, int hidden, LayerState.Recurrent state) {
        Backend backend = workspace.backend();
        DeltaProjections projections = DeltaProjections.read(weights, layer, shape, hidden);
        this.ops = backend.ops();
        this.shape = shape;
        this.inputs = new Weight[] {
            backend.weight(projections.qkv()),
            backend.weight(projections.z()),
            backend.weight(projections.beta()),
            backend.weight(projections.alpha())
        };
        this.output = backend.weight(weights.matrix(Role.DELTA_OUTPUT, layer, hidden, shape.valueColumns()));
        this.small = new DeltaWeights(
                backend.parameter(weights.parameter(Role.DELTA_CONVOLUTION, layer, shape.channels(), shape.kernel())),
                backend.parameter(weights.parameter(Role.DELTA_DECAY, layer, 1, shape.valueHeads())),
                backend.parameter(weights.parameter(Role.DELTA_TIME_BIAS, layer, 1, shape.valueHeads())),
                backend.parameter(weights.parameter(Role.DELTA_NORM, layer, 1, shape.valueSize())));
        this.state = state;
        this.projected = workspace.in(Region.MIXER_INPUT, shape.channels());
        this.gates = workspace.in(Region.MIXER_GATES, shape.valueColumns());
        this.betas = workspace.tensor("delta beta", shape.valueHeads());
        this.alphas = workspace.tensor("delta alpha", shape.valueHeads());
        this.result = workspace.in(Region.MIXER_RESULT, shape.valueColumns());
    }

    static DeltaNetBlock create(
            Workspace workspace, Weights weights, int layer, DeltaShape shape, int hidden, ModelOptions options) {
        LayerState.Recurrent state = workspace.backend().recurrent(shape, options.slots());
        return new DeltaNetBlock(workspace, weights, layer, shape, hidden, state);
    }

    @Override
    public void forward(NormedRows x, Batch batch, Tensor room, Residual into) {
        int rows = x.rows().rows();
        Tensor channels = projected.rows(rows);
        Tensor z = gates.rows(rows);
        Tensor beta = betas.rows(rows);
        Tensor alpha = alphas.rows(rows);
        ops.matmulAll(inputs, x, new Tensor[] {channels, z, beta, alpha});
        ops.deltaNet(shape, small, channels, z, beta, alpha, state, batch, result.rows(rows));
        ops.matmulInto(output, result.rows(rows), room, into);
    }

    @Override
    public List<LayerState> states() {
        return List.of(state);
    }
}
