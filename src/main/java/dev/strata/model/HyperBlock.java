package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.HyperWeights;
import dev.strata.device.Ops;
import dev.strata.device.Residual;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import org.jspecify.annotations.Nullable;

/** One gated residual module: reads a block's input from the residual streams and adds the block's output back to them. */
final class HyperBlock {
    private final Ops ops;
    private final HyperWeights weights;
    private final Tensor scalars;

    private HyperBlock(Workspace workspace, HyperWeights weights) {
        this.ops = workspace.backend().ops();
        this.weights = weights;
        this.scalars = workspace.tensor("stream injections", weights.streams());
    }

    /**
     * Reads the module of the given roles.
     *
     * @param inject absent in modules that only read
     */
    static HyperBlock create(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            Hyperparameters.Hyper hyper,
            Role norm,
            Role down,
            Role up,
            @Nullable Role inject) {
        Backend backend = workspace.backend();
        int columns = hyper.streams() * sizes.hidden();
        Weight injection =
                inject == null ? null : backend.weight(weights.matrix(inject, layer, hyper.streams(), columns));
        return new HyperBlock(
                workspace,
                new HyperWeights(
                        hyper.streams(),
                        backend.parameter(weights.parameter(norm, layer, 1, columns)),
                        backend.weight(weights.matrix(down, layer, hyper.lowRank(), columns)),
                        backend.weight(weights.matrix(up, layer, columns, hyper.lowRank())),
                        injection,
                        sizes.config().normEpsilon()));
    }

    /** x [rows, hidden] from the streams; remembers how strongly every stream takes the output. */
    void mix(Tensor residual, Tensor x) {
        ops.hyperMix(weights, residual, x, weights.inject() == null ? null : scalars.rows(residual.rows()));
    }

    /** How the block's output is added to every stream; follows {@link #mix} of the same rows. */
    Residual injection(Tensor residual) {
        return new Residual(residual, scalars.rows(residual.rows()));
    }
}
