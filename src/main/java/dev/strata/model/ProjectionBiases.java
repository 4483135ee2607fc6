package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.HostTensor;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;

/** Biases of query, key and value projections: products of [columns, 1] matrices with rows of a single one. */
final class ProjectionBiases {
    private final Ops ops;
    private final Weight query;
    private final Weight key;
    private final Weight value;
    private final Tensor ones;

    private ProjectionBiases(Ops ops, Weight query, Weight key, Weight value, Tensor ones) {
        this.ops = ops;
        this.query = query;
        this.key = key;
        this.value = value;
        this.ones = ones;
    }

    static ProjectionBiases read(Workspace workspace, Weights weights, int layer, AttentionShape shape) {
        Backend backend = workspace.backend();
        Tensor ones = workspace.constant("ones", () -> {
            MemorySegment values = weights.arena().allocate(4L * workspace.maxRows(), 64);
            for (int row = 0; row < workspace.maxRows(); row++) {
                values.setAtIndex(JAVA_FLOAT, row, 1);
            }
            return new HostTensor("ones", QuantType.F32, workspace.maxRows(), 1, values, 1);
        });
        return new ProjectionBiases(
                backend.ops(),
                backend.weight(weights.parameter(Role.QUERY_BIAS, layer, shape.projectedColumns(), 1)),
                backend.weight(weights.parameter(Role.KEY_BIAS, layer, shape.kvColumns(), 1)),
                backend.weight(weights.parameter(Role.VALUE_BIAS, layer, shape.kvColumns(), 1)),
                ones);
    }

    void add(Tensor queries, Tensor keys, Tensor values) {
        Tensor rows = ones.rows(queries.rows());
        ops.matmulAdd(query, rows, queries);
        ops.matmulAdd(key, rows, keys);
        ops.matmulAdd(value, rows, values);
    }
}
