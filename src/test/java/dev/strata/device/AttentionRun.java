package dev.strata.device;

import org.jspecify.annotations.Nullable;

/** One attention layer with random weights: every pass appends random keys and values and attends. */
final class AttentionRun implements AutoCloseable {
    private final OpFixture fixture;
    private final AttentionShape shape;
    private final LayerState.Kv kv;
    private final @Nullable Tensor queryNorm;
    private final @Nullable Tensor keyNorm;

    AttentionRun(OpFixture fixture, AttentionShape shape, KvFormat format, boolean norms) {
        this.fixture = fixture;
        this.shape = shape;
        this.kv = fixture.backend().kv(shape, format, OpFixture.PAGES);
        this.queryNorm = norms ? fixture.parameter(1, shape.headSize(), 1, 0.2) : null;
        this.keyNorm = norms ? fixture.parameter(1, shape.headSize(), 1, 0.2) : null;
    }

    LayerState.Kv kv() {
        return kv;
    }

    float[][] pass(Batch batch) {
        return pass(batch, null);
    }

    /** Queries, gates (when there are any) and the result. */
    float[][] pass(Batch batch, LayerState.@Nullable Selection selection) {
        int rows = batch.rows();
        Tensor projected = fixture.input(rows, shape.projectedColumns());
        Tensor keys = fixture.input(rows, shape.kvColumns());
        Tensor values = fixture.input(rows, shape.kvColumns());
        Tensor queries = fixture.output(rows, shape.queryColumns());
        Tensor gates = shape.outputGate() ? fixture.output(rows, shape.queryColumns()) : null;
        Tensor out = fixture.output(rows, shape.queryColumns());
        fixture.ops().pass("attention", batch, () -> {
            fixture.ops()
                    .attentionInputs(shape, projected, keys, values, queryNorm, keyNorm, kv, batch, queries, gates);
            fixture.ops().attention(shape, queries, kv, selection, gates, batch, out);
        });
        return gates == null
                ? new float[][] {fixture.read(queries), fixture.read(out)}
                : new float[][] {fixture.read(queries), fixture.read(gates), fixture.read(out)};
    }

    @Override
    public void close() {
        kv.close();
    }
}
