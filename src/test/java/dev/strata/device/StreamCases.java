package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.List;

/** Residual streams: gated residual modules and the n-gram layer. */
final class StreamCases {
    private StreamCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (int rows : new int[] {1, 3, 65}) {
            for (QuantType type : new QuantType[] {QuantType.F32, QuantType.BF16, QuantType.Q8_0}) {
                cases.add(mix(rows, 4, 64, 32, type, true));
                cases.add(mix(rows, 4, 256, 64, type, true));
            }
            cases.add(mix(rows, 2, 96, 16, QuantType.F16, false));
            cases.add(mix(rows, 4, 33, 7, QuantType.F32, true));
            cases.add(inject(rows, 4, 33));
            cases.add(inject(rows, 2, 256));
            cases.add(ngram(4, 64, 64, 3, rows));
        }
        cases.add(ngram(4, 32, 96, 3, 9));
        cases.add(ngram(2, 33, 20, 1, 13));
        for (int accepted = 0; accepted <= 4; accepted++) {
            cases.add(heldNgram(accepted));
        }
        cases.add(savedNgram());
        return cases;
    }

    private static OpCase mix(int rows, int streams, int hidden, int lowRank, QuantType type, boolean inject) {
        String name =
                "hyper mix " + type + ", " + rows + " rows of " + streams + " x " + hidden + ", low rank " + lowRank;
        return new OpCase(name, Kind.PRODUCT, f -> {
            int columns = streams * hidden;
            HyperWeights weights = new HyperWeights(
                    streams,
                    f.parameter(1, columns, 1, 0.2),
                    f.weight(type, lowRank, columns),
                    f.weight(type, columns, lowRank),
                    inject ? f.weight(type, streams, columns) : null,
                    1e-6f);
            Tensor residual = f.input(rows, columns);
            Tensor out = f.output(rows, hidden);
            Tensor scalars = inject ? f.output(rows, streams) : null;
            f.ops().hyperMix(weights, residual, out, scalars);
            return scalars == null ? new float[][] {f.read(out)} : new float[][] {f.read(out), f.read(scalars)};
        });
    }

    private static OpCase inject(int rows, int streams, int hidden) {
        return new OpCase("hyper inject " + rows + " rows of " + streams + " x " + hidden, Kind.FLOAT, f -> {
            Tensor residual = f.inputView(rows, streams * hidden);
            f.ops().hyperInject(f.input(rows, hidden), f.input(rows, streams), residual);
            return new float[][] {f.read(residual)};
        });
    }

    private static OpCase ngram(int streams, int hidden, int embedding, int dilation, int rows) {
        String name = "n-gram layer " + streams + " x " + hidden + " from " + embedding + ", dilation " + dilation
                + ", " + rows + " rows";
        return new OpCase(name, Kind.PRODUCT, f -> {
            try (NgramRun run = new NgramRun(f, streams, hidden, embedding, dilation)) {
                float[] first = run.pass(OpFixture.batch(rows, 0, false));
                float[] second = run.pass(OpFixture.batch(4, rows, false));
                return new float[][] {first, second};
            }
        });
    }

    private static OpCase savedNgram() {
        return new OpCase("n-gram layer, slot put back from bytes", Kind.PRODUCT, f -> {
            try (NgramRun run = new NgramRun(f, 4, 32, 32, 3)) {
                run.pass(OpFixture.batch(11, 0, false));
                OpFixture.move(run.state().slots(), 0, 2);
                Batch next = new Batch(
                        new int[3 + 3], List.of(OpFixture.segment(0, 3, 11, 2), OpFixture.segment(3, 3, 0, 0)), false);
                return new float[][] {run.pass(next)};
            }
        });
    }

    private static OpCase heldNgram(int accepted) {
        return new OpCase("n-gram layer, " + accepted + " of 4 held rows accepted", Kind.PRODUCT, f -> {
            try (NgramRun run = new NgramRun(f, 4, 32, 32, 3)) {
                run.pass(OpFixture.batch(11, 0, false));
                Batch window = new Batch(
                        new int[4 + 2], List.of(OpFixture.segment(0, 4, 11, 0), OpFixture.segment(4, 2, 0, 1)), true);
                float[] tried = run.pass(window);
                f.ops().commit(window, 0, accepted);
                f.ops().commit(window, 1, 2);
                run.state().slots().copy(0, 2);
                Batch next = new Batch(
                        new int[3 + 3],
                        List.of(OpFixture.segment(0, 3, 11 + accepted, 2), OpFixture.segment(3, 3, 2, 1)),
                        false);
                return new float[][] {tried, run.pass(next)};
            }
        });
    }

    /** One n-gram layer with random weights; results are what it added to the streams. */
    private static final class NgramRun implements AutoCloseable {
        private final OpFixture fixture;
        private final NgramWeights weights;
        private final int columns;
        private final int embedding;
        private final LayerState.Ngram state;

        NgramRun(OpFixture fixture, int streams, int hidden, int embedding, int dilation) {
            this.fixture = fixture;
            this.columns = streams * hidden;
            this.embedding = embedding;
            this.weights = new NgramWeights(
                    streams,
                    fixture.weight(QuantType.BF16, columns, embedding),
                    fixture.weight(QuantType.BF16, hidden, embedding),
                    fixture.parameter(1, columns, 1, 0.2),
                    fixture.parameter(1, columns, 1, 0.2),
                    fixture.parameter(1, columns, 1, 0.2),
                    fixture.parameter(columns, 4, 0, 0.4),
                    4,
                    dilation,
                    1e-6f);
            this.state = fixture.backend().ngram(weights, 4);
            for (int slot = 0; slot < 4; slot++) {
                state.slots().clear(slot);
            }
        }

        LayerState.Ngram state() {
            return state;
        }

        float[] pass(Batch batch) {
            Tensor residual = fixture.input(batch.rows(), columns);
            Tensor values = fixture.input(batch.rows(), embedding);
            fixture.ops().pass("n-gram", batch, () -> fixture.ops().ngram(weights, values, residual, state, batch));
            return fixture.read(residual);
        }

        @Override
        public void close() {
            state.close();
        }
    }
}
