package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.HostTensor;
import dev.strata.device.IndexerShape;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;

/** Chooses the blocks of earlier tokens that a sparse attention layer reads. */
final class BlockSelector {
    private final Ops ops;
    private final IndexerShape shape;
    private final Weight query;
    private final Weight key;
    private final Tensor queryNorm;
    private final Tensor keyNorm;
    private final LayerState.Index index;
    private final LayerState.Selection selection;
    private final Tensor queries;
    private final Tensor keys;

    private BlockSelector(
            Workspace workspace,
            IndexerShape shape,
            Weight query,
            Weight key,
            Tensor queryNorm,
            Tensor keyNorm,
            LayerState.Index index,
            LayerState.Selection selection) {
        this.ops = workspace.backend().ops();
        this.shape = shape;
        this.query = query;
        this.key = key;
        this.queryNorm = queryNorm;
        this.keyNorm = keyNorm;
        this.index = index;
        this.selection = selection;
        this.queries = workspace.tensor("index queries", shape.heads() * shape.headSize());
        this.keys = workspace.tensor("index keys", shape.headSize());
    }

    static BlockSelector create(
            Workspace workspace, Weights weights, int layer, IndexerShape shape, int hidden, ModelOptions options) {
        Backend backend = workspace.backend();
        int queryRows = shape.heads() * shape.headSize();
        HostTensor query;
        HostTensor key;
        if (weights.has(Role.INDEX_QUERY_KEY, layer)) {
            int all = queryRows + shape.headSize();
            query = weights.rows(Role.INDEX_QUERY_KEY, layer, all, 0, queryRows, hidden);
            key = weights.rows(Role.INDEX_QUERY_KEY, layer, all, queryRows, shape.headSize(), hidden);
        } else {
            query = weights.matrix(Role.INDEX_QUERY, layer, queryRows, hidden);
            key = weights.matrix(Role.INDEX_KEY, layer, shape.headSize(), hidden);
        }
        return new BlockSelector(
                workspace,
                shape,
                backend.weight(query),
                backend.weight(key),
                backend.parameter(weights.parameter(Role.INDEX_QUERY_NORM, layer, 1, shape.headSize())),
                backend.parameter(weights.parameter(Role.INDEX_KEY_NORM, layer, 1, shape.headSize())),
                backend.index(shape, options.pages()),
                backend.selection(shape, options.maxRows(), options.pages() * Batch.PAGE));
    }

    /** The projections that {@link #select} needs: index queries and the index key. */
    Weight[] inputs() {
        return new Weight[] {query, key};
    }

    /** Where those projections of {@code rows} rows go. */
    Tensor[] projected(int rows) {
        return new Tensor[] {queries.rows(rows), keys.rows(rows)};
    }

    /** Appends the rows' index keys and chooses blocks for them, from projections that are in place. */
    LayerState.Selection select(Batch batch) {
        ops.indexKeys(shape, keys.rows(batch.rows()), keyNorm, index, batch);
        ops.selectBlocks(shape, queries.rows(batch.rows()), queryNorm, index, batch, selection);
        return selection;
    }

    LayerState.Index index() {
        return index;
    }
}
