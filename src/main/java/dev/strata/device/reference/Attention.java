package dev.strata.device.reference;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** Softmax attention of every row over its own sequence, dense or over chosen blocks. */
final class Attention {
    private final AttentionShape shape;
    private final KvPages pages;
    private final Workers workers;

    Attention(AttentionShape shape, KvPages pages, Workers workers) {
        this.shape = shape;
        this.pages = pages;
        this.workers = workers;
    }

    void run(Tensor queries, @Nullable ChosenBlocks chosen, @Nullable Tensor gates, Batch batch, Tensor out) {
        float[] query = Floats.load(queries);
        float[] gate = gates == null ? new float[0] : Floats.load(gates);
        float[] result = new float[query.length];
        for (Batch.Segment segment : batch.segments()) {
            int items = segment.rows() * shape.kvHeads();
            long cost = 2L * (segment.past() + segment.rows()) * shape.headSize() * shape.heads() / shape.kvHeads();
            workers.range(items, cost, (from, to) -> {
                for (int item = from; item < to; item++) {
                    int row = segment.firstRow() + item / shape.kvHeads();
                    int last = segment.past() + item / shape.kvHeads();
                    int[] positions = chosen == null ? null : chosen.positions(row, last);
                    group(segment, row, item % shape.kvHeads(), last, positions, query, result);
                }
            });
        }
        for (int i = 0; i < gate.length; i++) {
            result[i] *= (float) Floats.sigmoid(gate[i]);
        }
        Floats.store(result, out);
    }

    /** The query heads that share one key-value head. */
    private void group(
            Batch.Segment segment,
            int row,
            int kvHead,
            int last,
            int @Nullable [] positions,
            float[] query,
            float[] result) {
        int size = shape.headSize();
        int heads = shape.heads() / shape.kvHeads();
        int count = positions == null ? last + 1 : positions.length;
        float[] head = new float[size];
        double[][] weights = new double[heads][count];
        for (int i = 0; i < count; i++) {
            int position = positions == null ? i : positions[i];
            pages.load(KvPages.Part.KEY, segment.pages()[position / Batch.PAGE], position % Batch.PAGE, kvHead, head);
            for (int h = 0; h < heads; h++) {
                int offset = row * shape.queryColumns() + (kvHead * heads + h) * size;
                weights[h][i] = Floats.dot(query, offset, head, 0, size) * shape.scale();
            }
        }
        for (double[] scores : weights) {
            softmax(scores);
        }
        double[] sums = new double[heads * size];
        for (int i = 0; i < count; i++) {
            int position = positions == null ? i : positions[i];
            pages.load(KvPages.Part.VALUE, segment.pages()[position / Batch.PAGE], position % Batch.PAGE, kvHead, head);
            for (int h = 0; h < heads; h++) {
                double weight = weights[h][i];
                for (int j = 0; j < size; j++) {
                    sums[h * size + j] += weight * head[j];
                }
            }
        }
        int offset = row * shape.queryColumns() + kvHead * heads * size;
        for (int i = 0; i < sums.length; i++) {
            result[offset + i] = (float) sums[i];
        }
    }

    private static void softmax(double[] scores) {
        double largest = Double.NEGATIVE_INFINITY;
        for (double score : scores) {
            largest = Math.max(largest, score);
        }
        double sum = 0;
        for (int i = 0; i < scores.length; i++) {
            scores[i] = Math.exp(scores[i] - largest);
            sum += scores[i];
        }
        for (int i = 0; i < scores.length; i++) {
            scores[i] /= sum;
        }
    }
}
