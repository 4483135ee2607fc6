package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import java.util.ArrayList;
import java.util.List;

/** Block-sparse attention: index keys pooled by block, blocks chosen, only those attended. */
final class IndexCases {
    private IndexCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        cases.add(sparse(4, 32, 4, 8, 1, 0));
        cases.add(sparse(4, 32, 4, 8, 7, 29));
        cases.add(sparse(4, 16, 4, 8, 70, 0));
        cases.add(sparse(2, 32, 4, 4, 5, 126));
        cases.add(sparse(4, 128, 4, 16, 3, 200));
        cases.add(sparse(4, 128, 4, 16, 100, 70));
        cases.add(sparse(1, 64, 16, 2, 3, 190));
        cases.add(sparse(4, 32, 4, 1, 9, 63));
        cases.add(rolledBack());
        cases.add(savedPages());
        return cases;
    }

    private static OpCase sparse(int heads, int headSize, int block, int budget, int rows, int past) {
        String name = "sparse attention, " + heads + " index heads of " + headSize + ", best " + budget + " blocks of "
                + block + ", " + rows + " rows after " + past;
        return new OpCase(name, Kind.FLOAT, f -> {
            IndexerShape shape = new IndexerShape(heads, headSize, Rope.plain(headSize / 2, 1e6), block, budget, 1e-6f);
            try (Sparse sparse = new Sparse(f, shape)) {
                if (past > 0) {
                    sparse.pass(OpFixture.batch(past, 0, false));
                }
                return sparse.pass(OpFixture.batch(rows, past, false));
            }
        });
    }

    /** Index keys and pooled keys are taken out as bytes and put back. */
    private static OpCase savedPages() {
        return new OpCase("sparse attention over pages put back from bytes", Kind.FLOAT, f -> {
            IndexerShape shape = new IndexerShape(2, 32, Rope.plain(16, 1e6), 4, 3, 1e-6f);
            try (Sparse sparse = new Sparse(f, shape)) {
                sparse.pass(OpFixture.batch(40, 0, false));
                int page = OpFixture.segment(0, 1, 0, 0).pages()[0];
                OpFixture.move(
                        sparse.index.pages(),
                        page,
                        OpFixture.segment(0, 1, 0, 3).pages()[0]);
                OpFixture.move(
                        sparse.index.pages(), OpFixture.segment(0, 1, 0, 3).pages()[0], page);
                return sparse.pass(OpFixture.batch(5, 40, false));
            }
        });
    }

    /** Rows that completed a block are given up and others take their place: the block's pooled key has to change. */
    private static OpCase rolledBack() {
        return new OpCase("sparse attention after given up rows", Kind.FLOAT, f -> {
            IndexerShape shape = new IndexerShape(2, 32, Rope.plain(16, 1e6), 4, 3, 1e-6f);
            try (Sparse sparse = new Sparse(f, shape)) {
                sparse.pass(OpFixture.batch(30, 0, false));
                sparse.pass(OpFixture.batch(6, 30, true));
                sparse.pass(OpFixture.batch(3, 32, true));
                return sparse.pass(OpFixture.batch(5, 33, false));
            }
        });
    }

    /** An attention layer with its selector. */
    private static final class Sparse implements AutoCloseable {
        private final OpFixture fixture;
        private final IndexerShape shape;
        private final AttentionRun attention;
        private final LayerState.Index index;
        private final LayerState.Selection selection;
        private final Tensor queryNorm;
        private final Tensor keyNorm;

        Sparse(OpFixture fixture, IndexerShape shape) {
            this.fixture = fixture;
            this.shape = shape;
            this.attention = new AttentionRun(fixture, AttentionCases.shape(4, 2, 64, 16, true), KvFormat.F32, true);
            this.index = fixture.backend().index(shape, OpFixture.PAGES);
            this.selection = fixture.backend().selection(shape, 256, OpFixture.PAGES * Batch.PAGE);
            this.queryNorm = fixture.parameter(1, shape.headSize(), 1, 0.2);
            this.keyNorm = fixture.parameter(1, shape.headSize(), 1, 0.2);
        }

        float[][] pass(Batch batch) {
            Tensor keys = fixture.input(batch.rows(), shape.headSize());
            Tensor queries = fixture.input(batch.rows(), shape.heads() * shape.headSize());
            fixture.ops().indexKeys(shape, keys, keyNorm, index, batch);
            fixture.ops().selectBlocks(shape, queries, queryNorm, index, batch, selection);
            return attention.pass(batch, selection);
        }

        @Override
        public void close() {
            attention.close();
            index.close();
            selection.close();
        }
    }
}
