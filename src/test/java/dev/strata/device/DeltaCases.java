package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import java.util.ArrayList;
import java.util.List;

/** Gated DeltaNet: head counts, both head orders and gates, chunk bounds, several sequences, held windows. */
final class DeltaCases {
    private DeltaCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (int rows : new int[] {1, 2, 3, 7, 63, 64, 65, 130}) {
            cases.add(run(new DeltaShape(2, 4, 16, 16, 4, false, false, 1e-6f), rows));
        }
        cases.add(run(new DeltaShape(2, 6, 32, 32, 4, true, true, 1e-6f), 13));
        cases.add(run(new DeltaShape(2, 4, 64, 64, 4, true, false, 1e-6f), 70));
        cases.add(run(new DeltaShape(1, 3, 128, 128, 4, false, true, 1e-6f), 5));
        cases.add(run(new DeltaShape(4, 4, 128, 128, 4, true, true, 1e-6f), 66));
        cases.add(run(new DeltaShape(1, 2, 128, 128, 4, false, false, 1e-6f), 1100));
        cases.add(run(new DeltaShape(2, 2, 16, 32, 3, false, false, 1e-6f), 9));
        cases.add(manySequences());
        cases.add(singleRows(false));
        cases.add(singleRows(true));
        for (int accepted = 0; accepted <= 4; accepted++) {
            cases.add(held(accepted));
        }
        cases.add(slots());
        cases.add(heldAgain());
        cases.add(savedSlot());
        return cases;
    }

    private static OpCase run(DeltaShape shape, int rows) {
        String name =
                "delta net " + shape.keyHeads() + "/" + shape.valueHeads() + " heads of " + shape.keySize() + " x "
                        + shape.valueSize() + ", kernel " + shape.kernel() + (shape.tiledHeads() ? ", tiled" : "")
                        + (shape.sigmoidGate() ? ", sigmoid" : "") + ", " + rows + " rows";
        return new OpCase(name, Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, shape)) {
                float[] first = run.pass(OpFixture.batch(rows, 0, false));
                float[] second = run.pass(OpFixture.batch(3, rows, false));
                return new float[][] {first, second};
            }
        });
    }

    private static OpCase manySequences() {
        return new OpCase("delta net of three sequences", Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, new DeltaShape(2, 4, 32, 32, 4, true, true, 1e-6f))) {
                Batch batch = new Batch(
                        new int[1 + 5 + 66],
                        List.of(
                                OpFixture.segment(0, 1, 0, 2),
                                OpFixture.segment(1, 5, 0, 0),
                                OpFixture.segment(6, 66, 0, 3)),
                        false);
                return new float[][] {run.pass(batch), run.pass(batch)};
            }
        });
    }

    /** Steps of one row for each of two sequences, the second of which begins later. */
    private static OpCase singleRows(boolean tiled) {
        DeltaShape shape = new DeltaShape(2, 6, 128, 128, 4, tiled, tiled, 1e-6f);
        return new OpCase("delta net of single rows" + (tiled ? ", tiled" : ""), Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, shape)) {
                float[][] out = new float[4][];
                out[0] = run.pass(new Batch(new int[1], List.of(OpFixture.segment(0, 1, 0, 2)), false));
                for (int step = 1; step < out.length; step++) {
                    out[step] = run.pass(new Batch(
                            new int[2],
                            List.of(OpFixture.segment(0, 1, step, 2), OpFixture.segment(1, 1, step - 1, 0)),
                            false));
                }
                return out;
            }
        });
    }

    /** Two sequences in one held window, of which one accepts {@code accepted} rows and the other one row. */
    private static OpCase held(int accepted) {
        return new OpCase("delta net, " + accepted + " of 4 held rows accepted", Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, new DeltaShape(2, 4, 32, 32, 4, false, false, 1e-6f))) {
                run.pass(OpFixture.batch(9, 0, false));
                Batch window = new Batch(
                        new int[4 + 2], List.of(OpFixture.segment(0, 4, 9, 0), OpFixture.segment(4, 2, 0, 1)), true);
                float[] tried = run.pass(window);
                f.ops().commit(window, 0, accepted);
                f.ops().commit(window, 1, 1);
                Batch next = new Batch(
                        new int[2 + 2],
                        List.of(OpFixture.segment(0, 2, 9 + accepted, 0), OpFixture.segment(2, 2, 1, 1)),
                        false);
                return new float[][] {tried, run.pass(next)};
            }
        });
    }

    /** Windows that are tried again and again, as captured passes are: each goes on from the rows accepted before. */
    private static OpCase heldAgain() {
        return new OpCase("delta net, held windows in a row", Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, new DeltaShape(2, 4, 32, 32, 4, false, false, 1e-6f))) {
                run.pass(OpFixture.batch(9, 0, false));
                float[][] tried = new float[6][];
                int past = 9;
                for (int i = 0; i < tried.length; i++) {
                    Batch window = new Batch(
                            new int[3 + 2],
                            List.of(OpFixture.segment(0, 3, past, 0), OpFixture.segment(3, 2, i, 1)),
                            true);
                    tried[i] = run.pass(window);
                    f.ops().commit(window, new int[] {1 + i % 3, 1});
                    past += 1 + i % 3;
                }
                run.state().slots().copy(0, 2);
                OpFixture.move(run.state().slots(), 1, 3);
                Batch next = new Batch(
                        new int[2 + 2],
                        List.of(OpFixture.segment(0, 2, past, 2), OpFixture.segment(2, 2, 6, 3)),
                        false);
                tried[0] = run.pass(next);
                return tried;
            }
        });
    }

    private static OpCase savedSlot() {
        return new OpCase("delta net, slot put back from bytes", Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, new DeltaShape(2, 4, 32, 32, 4, false, false, 1e-6f))) {
                run.pass(OpFixture.batch(9, 0, false));
                OpFixture.move(run.state().slots(), 0, 3);
                Batch next = new Batch(
                        new int[2 + 2], List.of(OpFixture.segment(0, 2, 9, 3), OpFixture.segment(2, 2, 0, 0)), false);
                return new float[][] {run.pass(next)};
            }
        });
    }

    private static OpCase slots() {
        return new OpCase("delta net, slots copied and cleared", Kind.FLOAT, f -> {
            try (DeltaRun run = new DeltaRun(f, new DeltaShape(2, 4, 32, 32, 4, false, false, 1e-6f))) {
                run.pass(OpFixture.batch(9, 0, false));
                run.state().slots().copy(0, 3);
                run.state().slots().clear(0);
                Batch next = new Batch(
                        new int[2 + 2], List.of(OpFixture.segment(0, 2, 9, 3), OpFixture.segment(2, 2, 0, 0)), false);
                return new float[][] {run.pass(next)};
            }
        });
    }

    /** One layer with random weights. */
    private static final class DeltaRun implements AutoCloseable {
        private final OpFixture fixture;
        private final DeltaShape shape;
        private final DeltaWeights weights;
        private final LayerState.Recurrent state;

        DeltaRun(OpFixture fixture, DeltaShape shape) {
            this.fixture = fixture;
            this.shape = shape;
            this.weights = new DeltaWeights(
                    fixture.parameter(shape.channels(), shape.kernel(), 0, 0.4),
                    fixture.parameter(1, shape.valueHeads(), -0.5, 0.2),
                    fixture.parameter(1, shape.valueHeads(), 0, 0.5),
                    fixture.parameter(1, shape.valueSize(), 1, 0.2));
            this.state = fixture.backend().recurrent(shape, 4);
            for (int slot = 0; slot < 4; slot++) {
                state.slots().clear(slot);
            }
        }

        LayerState.Recurrent state() {
            return state;
        }

        float[] pass(Batch batch) {
            int rows = batch.rows();
            Tensor qkv = fixture.input(rows, shape.channels());
            Tensor z = fixture.input(rows, shape.valueColumns());
            Tensor beta = fixture.input(rows, shape.valueHeads());
            Tensor alpha = fixture.input(rows, shape.valueHeads(), 2);
            Tensor out = fixture.output(rows, shape.valueColumns());
            fixture.ops()
                    .pass(
                            "delta net",
                            batch,
                            () -> fixture.ops().deltaNet(shape, weights, qkv, z, beta, alpha, state, batch, out));
            return fixture.read(out);
        }

        @Override
        public void close() {
            state.close();
        }
    }
}
