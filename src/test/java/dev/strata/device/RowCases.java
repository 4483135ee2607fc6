package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.Arrays;
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
        cases.add(lastRows(65));
        for (int vocabulary : new int[] {50, 1500, 40001}) {
            cases.add(likeliest(vocabulary, 3));
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

    private static OpCase lastRows(int columns) {
        return new OpCase("last rows of " + columns, Kind.EXACT, f -> {
            List<Batch.Segment> segments = List.of(
                    OpFixture.segment(0, 3, 5, 0), OpFixture.segment(3, 1, 0, 1), OpFixture.segment(4, 7, 2, 2));
            Batch batch = new Batch(new int[11], segments, false);
            Tensor out = f.output(3, columns);
            f.ops().lastRows(f.inputView(11, columns), batch, out);
            return new float[][] {f.read(out)};
        });
    }

    /** Logits with ties and, in the last row, one that is no number; the tokens found are embedded. */
    private static OpCase likeliest(int vocabulary, int rows) {
        return new OpCase("likeliest of " + vocabulary, Kind.FLOAT, f -> {
            Tensor logits = f.input(rows, vocabulary, 2);
            float[] values = f.read(logits);
            for (int i = 0; i < values.length; i++) {
                values[i] = Math.round(values[i] * 8) / 8f;
            }
            values[values.length - 5] = Float.NaN;
            f.write(logits, values);
            Tensor tokens = f.output(rows, 1);
            Tensor probabilities = f.output(rows, 1);
            f.ops().likeliest(logits, tokens, probabilities);
            Tensor embedded = f.output(rows - 1, 64);
            f.ops().embed(f.weight(QuantType.Q8_0, vocabulary, 64), tokens.rows(rows - 1), embedded);
            float[] found = f.read(probabilities);
            return new float[][] {
                f.read(embedded), Arrays.copyOf(found, rows - 1), {Float.isNaN(found[rows - 1]) ? 1 : 0}
            };
        });
    }
}
