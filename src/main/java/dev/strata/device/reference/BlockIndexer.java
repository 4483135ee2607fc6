package dev.strata.device.reference;

import dev.strata.device.Batch;
import dev.strata.device.IndexerShape;
import dev.strata.device.Tensor;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/** Block-sparse attention's selector: pools index keys by block and chooses the best blocks of every row. */
final class BlockIndexer {
    private final IndexerShape shape;
    private final Rotation rotation;
    private final Workers workers;

    BlockIndexer(IndexerShape shape, Workers workers) {
        this.shape = shape;
        this.rotation = new Rotation(shape.rope());
        this.workers = workers;
    }

    void append(Tensor keys, Tensor keyNorm, IndexPages pages, Batch batch) {
        float[] norm = Floats.load(keyNorm);
        for (Batch.Segment segment : batch.segments()) {
            for (int i = 0; i < segment.rows(); i++) {
                int position = segment.past() + i;
                pages.storeRaw(segment.pages(), position, Floats.load(keys, segment.firstRow() + i, 1));
                if ((position + 1) % shape.block() == 0) {
                    pool(segment.pages(), position / shape.block(), norm, pages);
                }
            }
        }
    }

    private void pool(int[] pageTable, int block, float[] norm, IndexPages pages) {
        float[] key = new float[shape.headSize()];
        double[] sum = new double[shape.headSize()];
        for (int i = 0; i < shape.block(); i++) {
            pages.loadRaw(pageTable, block * shape.block() + i, key);
            for (int j = 0; j < key.length; j++) {
                sum[j] += key[j];
            }
        }
        for (int j = 0; j < key.length; j++) {
            key[j] = (float) (sum[j] / shape.block());
        }
        Norms.rmsRun(key, 0, key.length, norm, 0, shape.normEpsilon());
        rotation.apply(key, 0, block * shape.block());
        pages.storePooled(pageTable, block, key);
    }

    void choose(Tensor queries, Tensor queryNorm, IndexPages pages, Batch batch, ChosenBlocks chosen) {
        float[] norm = Floats.load(queryNorm);
        float[] query = Floats.load(queries);
        for (Batch.Segment segment : batch.segments()) {
            long cost = (long) (segment.past() + segment.rows()) / shape.block() * shape.heads() * shape.headSize();
            workers.range(segment.rows(), cost, (from, to) -> {
                for (int i = from; i < to; i++) {
                    int row = segment.firstRow() + i;
                    int position = segment.past() + i;
                    for (int head = 0; head < shape.heads(); head++) {
                        int offset = (row * shape.heads() + head) * shape.headSize();
                        Norms.rmsRun(query, offset, shape.headSize(), norm, 0, shape.normEpsilon());
                        rotation.apply(query, offset, position);
                    }
                    int blocks = (position + 1) / shape.block();
                    chosen.set(row, best(scores(query, row, segment.pages(), blocks, pages)));
                }
            });
        }
    }

    private float[] scores(float[] query, int row, int[] pageTable, int blocks, IndexPages pages) {
        float[] scores = new float[blocks];
        float[] pooled = new float[shape.headSize()];
        for (int block = 0; block < blocks; block++) {
            pages.loadPooled(pageTable, block, pooled);
            double sum = 0;
            for (int head = 0; head < shape.heads(); head++) {
                int offset = (row * shape.heads() + head) * shape.headSize();
                sum += Math.max(0, Floats.dot(query, offset, pooled, 0, shape.headSize()));
            }
            scores[block] = (float) (sum / Math.sqrt(shape.headSize()));
        }
        return scores;
    }

    /** Indices of the largest scores in ascending order; the lower index wins among equals. */
    private int[] best(float[] scores) {
        if (scores.length <= shape.budgetBlocks()) {
            return IntStream.range(0, scores.length).toArray();
        }
        int[] best = IntStream.range(0, scores.length)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer block) -> -scores[block])
                        .thenComparing(Comparator.naturalOrder()))
                .limit(shape.budgetBlocks())
                .mapToInt(Integer::intValue)
                .toArray();
        Arrays.sort(best);
        return best;
    }
}
