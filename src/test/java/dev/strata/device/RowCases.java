package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.List;

/** Embedding, norms, and operations that move or add rows. */
final class RowCases {
    private RowCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (int rows : new int[] {1, 3, 13, 65}) {
            for (int columns : new int[] {1, 7, 64, 257, 1024}) {
                cases.add(add(rows, columns));
                cases.add(norm(rows, columns, 1, false));
                cases.add(concatenate(rows, columns, columns + 5));
            }
            cases.add(norm(rows, 64, 4, false));
            cases.add(norm(rows, 64, 4, true));
            cases.add(norm(rows, 33, 3, true));
            cases.add(repeat(rows, 33, 1));
            cases.add(repeat(rows, 64, 4));
            cases.add(gather(rows, 65));
        }
        for (QuantType type : ProductCases.TYPES) {
            cases.add(embed(type));
        }
        return cases;
    }

    private static OpCase embed(QuantType type) {
        return new OpCase("embed " + type, Kind.FLOAT, f -> {
            int columns = ProductCases.inputs(type, 2);
            Weight table = f.weight(type, 50, columns);
            int[] tokens = {49, 0, 7, 7, 31};
            Batch batch = new Batch(tokens, List.of(OpFixture.segment(0, tokens.length, 0, 0)), false);
            Tensor out = f.output(tokens.length, columns);
            f.ops().embed(table, batch, out);
            return new float[][] {f.read(out)};
        });
    }

    private static OpCase norm(int rows, int group, int groups, boolean shared) {
        String name = "rms norm " + rows + " x " + groups + " groups of " + group + (shared ? ", one weight" : "");
        return new OpCase(name, Kind.FLOAT, f -> {
            Tensor in = f.inputView(rows, group * groups);
            Tensor weight = f.parameter(1, shared ? group : group * groups, 1, 0.3);
            Tensor out = f.output(rows, group * groups);
            f.ops().rmsNorm(in, weight, group, 1e-6f, out);
            float[] apart = f.read(out);
            f.ops().rmsNorm(in, weight, group, 1e-6f, in);
            return new float[][] {apart, f.read(in)};
        });
    }

    private static OpCase add(int rows, int columns) {
        return new OpCase("add " + rows + " x " + columns, Kind.EXACT, f -> {
            Tensor into = f.inputView(rows, columns);
            f.ops().add(f.input(rows, columns), into);
            return new float[][] {f.read(into)};
        });
    }

    private static OpCase repeat(int rows, int columns, int times) {
        return new OpCase("repeat " + rows + " x " + columns + " x " + times, Kind.EXACT, f -> {
            Tensor out = f.output(rows, columns * times);
            f.ops().repeat(f.inputView(rows, columns), times, out);
            return new float[][] {f.read(out)};
        });
    }

    private static OpCase concatenate(int rows, int left, int right) {
        return new OpCase("concatenate " + rows + " x " + left + " | " + right, Kind.EXACT, f -> {
            Tensor out = f.output(rows, left + right);
            f.ops().concatenate(f.inputView(rows, left), f.inputView(rows, right), out);
            return new float[][] {f.read(out)};
        });
    }

    private static OpCase gather(int rows, int columns) {
        return new OpCase("gather " + rows + " x " + columns, Kind.EXACT, f -> {
            Tensor in = f.inputView(20, columns);
            int[] picks = f.random().ints(rows, 0, 20).toArray();
            Tensor out = f.output(rows, columns);
            f.ops().gatherRows(in, picks, out);
            return new float[][] {f.read(out)};
        });
    }
}
