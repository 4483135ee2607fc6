package dev.strata.model;

import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.HostTensor;
import dev.strata.device.LayerState;
import dev.strata.device.NormedRows;
import dev.strata.device.Ops;
import dev.strata.device.Residual;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.model.Workspace.Region;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Grouped-query attention with normed heads and, where the family has it, an output gate and a block selector. */
final class AttentionBlock implements MixerBlock {
    private final Ops ops;
    private final AttentionShape shape;
    /** Queries (with gates), keys, values; then what the selector needs. */
    private final Weight[] inputs;

    private final Weight output;
    private final HeadNorms norms;
    private final @Nullable ProjectionBiases biases;
    private final LayerState.Kv kv;
    private final @Nullable BlockSelector selector;
    private final Tensor projected;
    private final Tensor keys;
    private final Tensor values;
    private final Tensor queries;
    private final @Nullable Tensor gates;
    private final Tensor attended;

    private AttentionBlock(
            Workspace workspace,
            Weights weights,
            int layer,
            AttentionShape shape,
            int hidden,
            LayerState.Kv kv,
            @Nullable BlockSelector selector) {
        Backend backend = workspace.backend();
        this.ops = backend.ops();
        this.shape = shape;
        List<Weight> projections = new ArrayList<>();
        projections.add(backend.weight(query(weights, layer, shape, hidden)));
        projections.add(backend.weight(weights.rotated(Role.KEY, layer, shape.kvHeads(), shape.headSize(), hidden)));
        projections.add(backend.weight(weights.matrix(Role.VALUE, layer, shape.kvColumns(), hidden)));
        if (selector != null) {
            projections.addAll(List.of(selector.inputs()));
        }
        this.inputs = projections.toArray(new Weight[0]);
        this.output = backend.weight(weights.matrix(Role.ATTENTION_OUTPUT, layer, hidden, shape.queryColumns()));
        this.norms = HeadNorms.read(workspace, weights, layer, shape);
        this.biases =
                weights.has(Role.QUERY_BIAS, layer) ? ProjectionBiases.read(workspace, weights, layer, shape) : null;
        this.kv = kv;
        this.selector = selector;
        this.projected = workspace.in(Region.MIXER_INPUT, shape.projectedColumns());
        this.keys = workspace.tensor("attention keys", shape.kvColumns());
        this.values = workspace.tensor("attention values", shape.kvColumns());
        this.queries = workspace.in(Region.MIXER_RESULT, shape.queryColumns());
        this.gates = shape.outputGate() ? workspace.in(Region.MIXER_GATES, shape.queryColumns()) : null;
        // The projections are spent once queries and gates are split off.
        this.attended = workspace.in(Region.MIXER_INPUT, shape.queryColumns());
    }

    /**
     * Reads the layer's weights and makes its cache.
     *
     * @param sparse whether the layer uses the model's block selector
     */
    static AttentionBlock create(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            ModelOptions options,
            boolean sparse) {
        AttentionShape shape = sizes.attention();
        LayerState.Kv kv = workspace.backend().kv(shape, options.kv(), options.pages());
        BlockSelector selector = sparse && sizes.indexer() != null
                ? BlockSelector.create(workspace, weights, layer, sizes.indexer(), sizes.hidden(), options)
                : null;
        return new AttentionBlock(workspace, weights, layer, shape, sizes.hidden(), kv, selector);
    }

    private static HostTensor query(Weights weights, int layer, AttentionShape shape, int hidden) {
        return shape.outputGate()
                ? weights.matrix(Role.QUERY, layer, shape.projectedColumns(), hidden)
                : weights.rotated(Role.QUERY, layer, shape.heads(), shape.headSize(), hidden);
    }

    @Override
    public void forward(NormedRows x, Batch batch, Tensor room, Residual into) {
        int rows = x.rows().rows();
        Tensor q = queries.rows(rows);
        Tensor g = gates == null ? null : gates.rows(rows);
        Tensor p = projected.rows(rows);
        Tensor k = keys.rows(rows);
        Tensor v = values.rows(rows);
        ops.matmulAll(inputs, x, projectionsOf(rows, p, k, v));
        if (biases != null) {
            biases.add(p, k, v);
        }
        norms.applyWhole(p, k);
        LayerState.Selection selection = selector == null ? null : selector.select(batch);
        Tensor a = ops.attend(
                shape, p, k, v, norms.queryHead(), norms.keyHead(), kv, selection, batch, q, g, attended.rows(rows));
        ops.matmulInto(output, a, room, into);
    }

    private Tensor[] projectionsOf(int rows, Tensor p, Tensor k, Tensor v) {
        if (selector == null) {
            return new Tensor[] {p, k, v};
        }
        Tensor[] index = selector.projected(rows);
        return new Tensor[] {p, k, v, index[0], index[1]};
    }

    @Override
    public List<LayerState> states() {
        List<LayerState> states = new ArrayList<>();
        states.add(kv);
        if (selector != null) {
            states.add(selector.index());
        }
        return states;
    }
}
