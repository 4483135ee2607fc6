package dev.strata.device.reference;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** From projections to what attention reads: gates split off, heads normed and rotated, keys and values in their pages. */
final class AttentionInputs {
    private final AttentionShape shape;
    private final Rotation rotation;
    private final float @Nullable [] queryNorm;
    private final float @Nullable [] keyNorm;

    AttentionInputs(AttentionShape shape, @Nullable Tensor queryNorm, @Nullable Tensor keyNorm) {
        this.shape = shape;
        this.rotation = new Rotation(shape.rope());
        this.queryNorm = queryNorm == null ? null : Floats.load(queryNorm);
        this.keyNorm = keyNorm == null ? null : Floats.load(keyNorm);
    }

    void queries(Tensor projected, Batch batch, Tensor queries, @Nullable Tensor gates) {
        int size = shape.headSize();
        float[] query = new float[shape.queryColumns()];
        float[] gate = new float[shape.queryColumns()];
        int stride = shape.outputGate() ? 2 * size : size;
        for (Batch.Segment segment : batch.segments()) {
            for (int i = 0; i < segment.rows(); i++) {
                int row = segment.firstRow() + i;
                float[] source = Floats.load(projected, row, 1);
                for (int head = 0; head < shape.heads(); head++) {
                    System.arraycopy(source, head * stride, query, head * size, size);
                    if (shape.outputGate()) {
                        System.arraycopy(source, head * stride + size, gate, head * size, size);
                    }
                    normAndRotate(query, head * size, queryNorm, segment.past() + i);
                }
                Floats.store(query, 0, query.length, queries, row);
                if (gates != null && shape.outputGate()) {
                    Floats.store(gate, 0, gate.length, gates, row);
                }
            }
        }
    }

    void append(Tensor keys, Tensor values, KvPages pages, Batch batch) {
        for (Batch.Segment segment : batch.segments()) {
            for (int i = 0; i < segment.rows(); i++) {
                int position = segment.past() + i;
                int page = segment.pages()[position / Batch.PAGE];
                float[] key = Floats.load(keys, segment.firstRow() + i, 1);
                float[] value = Floats.load(values, segment.firstRow() + i, 1);
                for (int head = 0; head < shape.kvHeads(); head++) {
                    int offset = head * shape.headSize();
                    normAndRotate(key, offset, keyNorm, position);
                    pages.store(KvPages.Part.KEY, page, position % Batch.PAGE, head, key, offset);
                    pages.store(KvPages.Part.VALUE, page, position % Batch.PAGE, head, value, offset);
                }
            }
        }
    }

    private void normAndRotate(float[] values, int offset, float @Nullable [] norm, int position) {
        if (norm != null) {
            Norms.rmsRun(values, offset, shape.headSize(), norm, 0, shape.normEpsilon());
        }
        rotation.apply(values, offset, position);
    }
}
