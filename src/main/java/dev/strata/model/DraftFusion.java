package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.HostTensor;
import dev.strata.device.NormedRows;
import dev.strata.device.Ops;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import org.jspecify.annotations.Nullable;

/** The draft layer's input: projections of the normed embedding and of the normed state, added, for every residual stream. */
final class DraftFusion {
    private final Ops ops;
    private final Weight table;
    /** One. */
    private final Weight[] embeddingProjections;

    private final Weight hiddenProjection;
    private final Tensor embeddingNorm;
    private final Tensor hiddenNorm;
    private final int streams;
    private final int hiddenGroup;
    private final float epsilon;
    private final Tensor embedded;
    private final Tensor projected;
    private final Tensor normed;

    private DraftFusion(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            Weight table,
            HostTensor embedding,
            HostTensor state,
            HiddenNorm hiddenNorm) {
        Backend backend = workspace.backend();
        int hidden = sizes.hidden();
        int rows = DraftLayer.rows(workspace);
        this.ops = backend.ops();
        this.table = table;
        this.streams = sizes.hyper() == null ? 1 : sizes.hyper().streams();
        this.embeddingProjections = new Weight[] {backend.weight(embedding)};
        this.hiddenProjection = backend.weight(state);
        this.embeddingNorm = backend.parameter(weights.parameter(Role.DRAFT_EMBEDDING_NORM, layer, 1, hidden));
        this.hiddenNorm = backend.parameter(weights.parameter(Role.DRAFT_HIDDEN_NORM, layer, 1, streams * hidden));
        this.hiddenGroup = hiddenNorm == HiddenNorm.WHOLE ? streams * hidden : hidden;
        this.epsilon = sizes.config().normEpsilon();
        this.embedded = workspace.tensor("draft embedding", rows, hidden);
        this.projected = workspace.tensor("draft projection", rows, hidden);
        this.normed = workspace.tensor("draft state", rows, streams * hidden);
    }

    static DraftFusion create(
            Workspace workspace,
            Weights weights,
            int layer,
            Hyperparameters sizes,
            Weight table,
            HiddenNorm hiddenNorm) {
        int hidden = sizes.hidden();
        HostTensor embedding;
        HostTensor state;
        if (weights.has(Role.DRAFT_PROJECTION, layer)) {
            HostTensor joined = weights.matrix(Role.DRAFT_PROJECTION, layer, hidden, 2 * hidden);
            embedding = weights.columns(joined, 0, hidden);
            state = weights.columns(joined, hidden, hidden);
        } else {
            embedding = weights.matrix(Role.DRAFT_EMBEDDING_PROJECTION, layer, hidden, hidden);
            state = weights.matrix(Role.DRAFT_HIDDEN_PROJECTION, layer, hidden, hidden);
        }
        Weight own = weights.has(Role.DRAFT_EMBEDDING, layer)
                ? workspace
                        .backend()
                        .weight(weights.matrix(
                                Role.DRAFT_EMBEDDING, layer, sizes.config().vocabulary(), hidden))
                : table;
        return new DraftFusion(workspace, weights, layer, sizes, own, embedding, state, hiddenNorm);
    }

    /**
     * out stream s = We norm(E[token]) + Wh norm(source)_s.
     *
     * @param tokens ids on the backend that take the place of the batch's
     */
    void forward(Batch batch, @Nullable Tensor tokens, Tensor source, Tensor out) {
        int rows = batch.rows();
        Tensor e = embedded.rows(rows);
        Tensor h = normed.rows(rows);
        ops.embed(table, batch, tokens, e);
        ops.rmsNorm(source, hiddenNorm, hiddenGroup, epsilon, h);
        Tensor first = streams == 1 ? out : projected.rows(rows);
        ops.matmulAll(embeddingProjections, new NormedRows(e, embeddingNorm, epsilon, e), new Tensor[] {first});
        if (streams > 1) {
            ops.repeat(first, streams, out);
        }
        ops.matmulAdd(
                hiddenProjection, h.reshape(rows * streams, e.columns()), out.reshape(rows * streams, e.columns()));
    }
}
