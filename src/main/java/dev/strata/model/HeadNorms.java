package dev.strata.model;

import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** Norms of queries and keys: none, one for every head, or one over the whole projection; the length of the weights tells. */
final class HeadNorms {
    private final Ops ops;
    private final @Nullable Tensor query;
    private final @Nullable Tensor key;
    private final boolean whole;
    private final float epsilon;

    private HeadNorms(Ops ops, @Nullable Tensor query, @Nullable Tensor key, boolean whole, float epsilon) {
        this.ops = ops;
        this.query = query;
        this.key = key;
        this.whole = whole;
        this.epsilon = epsilon;
    }

    static HeadNorms read(Workspace workspace, Weights weights, int layer, AttentionShape shape) {
        Backend backend = workspace.backend();
        if (!weights.has(Role.QUERY_NORM, layer)) {
            return new HeadNorms(backend.ops(), null, null, false, shape.normEpsilon());
        }
        boolean whole = !shape.outputGate()
                && shape.heads() > 1
                && weights.require(Role.QUERY_NORM, layer).elements() == shape.queryColumns();
        int queryLength = whole ? shape.queryColumns() : shape.headSize();
        int keyLength = whole ? shape.kvColumns() : shape.headSize();
        return new HeadNorms(
                backend.ops(),
                backend.parameter(weights.parameter(Role.QUERY_NORM, layer, 1, queryLength)),
                backend.parameter(weights.parameter(Role.KEY_NORM, layer, 1, keyLength)),
                whole,
                shape.normEpsilon());
    }

    /** Norms whole projections in place; does nothing where norms are per head. */
    void applyWhole(Tensor queries, Tensor keys) {
        if (whole && query != null && key != null) {
            ops.rmsNorm(queries, query, queries.columns(), epsilon, queries);
            ops.rmsNorm(keys, key, keys.columns(), epsilon, keys);
        }
    }

    /** Weights of every query head's norm, [1, headSize]. */
    @Nullable
    Tensor queryHead() {
        return whole ? null : query;
    }

    /** Weights of every key head's norm, [1, headSize]. */
    @Nullable
    Tensor keyHead() {
        return whole ? null : key;
    }
}
