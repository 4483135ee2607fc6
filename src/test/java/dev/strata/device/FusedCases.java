package dev.strata.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Operations that do several things in one, which backends may fuse for few rows. */
final class FusedCases {
    /** What the names of all cases begin with. */
    static final String PREFIX = "fused ";

    private FusedCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (int rows : new int[] {1, 3, 8, 13}) {
            cases.add(products(rows, 512, true, QuantType.Q4_K, QuantType.Q8_0, QuantType.F32, QuantType.BF16));
            cases.add(products(rows, 2048, true, QuantType.Q4_0, QuantType.Q6_K));
        }
        cases.add(products(1, 512, false, QuantType.IQ2_XS, QuantType.IQ3_XXS, QuantType.Q2_0, QuantType.IQ4_XS));
        cases.add(products(5, 69, true, QuantType.F16, QuantType.F32));
        cases.add(products(1, 4100, true, QuantType.F32, QuantType.BF16, QuantType.F32));
        cases.add(products(4, 8192, true, QuantType.Q8_0));
        for (QuantType type :
                new QuantType[] {QuantType.Q8_0, QuantType.Q4_0, QuantType.Q5_0, QuantType.Q4_K, QuantType.MXFP4}) {
            cases.add(products(1, 6144, type != QuantType.Q4_0, type));
        }
        for (int rows : new int[] {1, 3, 8, 12}) {
            cases.add(route(new RouterShape(128, 8, true, 1), QuantType.F32, rows, true));
            cases.add(route(new RouterShape(512, 10, true, 2.5f), QuantType.F32, rows, true));
            cases.add(route(new RouterShape(60, 4, false, 1), QuantType.BF16, rows, false));
        }
        for (int rows : new int[] {1, 3, 10}) {
            for (QuantType type : new QuantType[] {QuantType.Q4_0, QuantType.NVFP4, QuantType.Q4_K, QuantType.IQ3_S}) {
                cases.add(experts(type, type, rows, null, false));
                cases.add(experts(type, QuantType.Q6_K, rows, QuantType.Q8_0, true));
            }
            cases.add(experts(QuantType.BF16, QuantType.BF16, rows, QuantType.BF16, false));
            cases.add(experts(QuantType.Q4_1, QuantType.Q5_0, rows, null, false));
            cases.add(experts(QuantType.Q5_0, QuantType.Q5_1, rows, QuantType.Q8_0, true));
        }
        for (int rows : new int[] {1, 3, 8, 11}) {
            cases.add(inject(rows, QuantType.Q8_0, 40, 96));
            cases.add(inject(rows, QuantType.Q8_0, 40, 6144));
            cases.add(hyper(rows, 4, QuantType.Q8_0, 320, QuantType.BF16));
            cases.add(hyper(rows, 2, QuantType.Q4_K, 256, QuantType.Q4_K));
        }
        // More tiles of 16 outputs than a card has multiprocessors.
        cases.add(inject(1, QuantType.Q8_0, 2128, 2112));
        for (KvFormat format : KvFormat.values()) {
            for (int past : new int[] {0, 63, 64, 450}) {
                cases.add(attend(AttentionCases.shape(8, 2, 64, 64, false), format, past));
            }
            cases.add(attend(AttentionCases.shape(4, 2, 256, 64, true), format, 130));
            cases.add(attend(AttentionCases.shape(20, 1, 128, 128, false), format, 40));
            cases.add(attend(AttentionCases.shape(3, 3, 32, 8, true), format, 5));
            cases.add(attendWindow(format));
        }
        for (int vocabulary : new int[] {50, 1500, 40001}) {
            cases.add(pick(vocabulary, 1, 1));
            cases.add(pick(vocabulary, 4, 0.3));
        }
        return cases;
    }

    /** Logits with ties; draws whose random numbers lie away from the borders between tokens. */
    private static OpCase pick(int vocabulary, int rows, double size) {
        return new OpCase(PREFIX + "picks of " + rows + " rows of " + vocabulary, Kind.FLOAT, f -> {
            Tensor logits = f.input(rows, vocabulary, size);
            float[] values = f.read(logits);
            for (int i = 0; i < values.length; i++) {
                values[i] = Math.round(values[i] * 4096) / 4096f;
            }
            f.write(logits, values);
            Tensor settings = f.output(rows, Picks.SETTINGS);
            float[] wanted = new float[Picks.SETTINGS * rows];
            for (int row = 0; row < rows; row++) {
                float uniform = row % 2 == 1 ? -1 : 0.5f + 0.1f * row;
                Picks.set(MemorySegment.ofArray(wanted), row, 1 + row, uniform, row < 2);
            }
            f.write(settings, wanted);
            Tensor out = f.output(rows, Picks.COLUMNS);
            Tensor tokens = f.output(rows, 1);
            f.ops().pick(logits, settings, out, tokens);
            float[] results = f.read(out);
            float[] chosen = f.read(tokens);
            for (int row = 0; row < rows; row++) {
                int drawn = Float.floatToRawIntBits(results[row * Picks.COLUMNS + 4]);
                int likeliest = Float.floatToRawIntBits(results[row * Picks.COLUMNS]);
                assertEquals(drawn < 0 ? likeliest : drawn, Float.floatToRawIntBits(chosen[row]), "row " + row);
            }
            return numbers(results, rows);
        });
    }

    /** All columns as numbers; the drawn token only roughly, since sums are rounded in another order. */
    private static float[][] numbers(float[] results, int rows) {
        float[][] columns = new float[rows][];
        for (int row = 0; row < rows; row++) {
            float[] own = Arrays.copyOfRange(results, row * Picks.COLUMNS, (row + 1) * Picks.COLUMNS);
            int count = Float.floatToRawIntBits(own[5]);
            for (int i = 0; i < own.length; i++) {
                boolean integer = i == 0 || (i >= 3 && i < 6 + Picks.CANDIDATES);
                own[i] = integer ? Float.floatToRawIntBits(own[i]) : own[i];
                int place = i < 6 ? 0 : (i - 6) % Picks.CANDIDATES;
                own[i] = i < 6 || place < count ? own[i] : 0;
            }
            own[4] = own[4] < 0 ? -1 : Math.round(own[4] / 64);
            columns[row] = own;
        }
        return columns;
    }

    private static OpCase products(int rows, int columns, boolean normed, QuantType... types) {
        String name = PREFIX + "products " + List.of(types) + " of " + rows + " rows of " + columns
                + (normed ? ", normed" : "");
        return new OpCase(name, Kind.PRODUCT, f -> {
            Weight[] weights = new Weight[types.length];
            Tensor[] outs = new Tensor[types.length];
            for (int i = 0; i < types.length; i++) {
                weights[i] = f.weight(types[i], 5 + 27 * i, columns, i == 1 ? 0.7f : 1);
                outs[i] = f.output(rows, weights[i].outputs());
            }
            f.ops().matmulAll(weights, input(f, rows, columns, normed), outs);
            float[][] values = new float[types.length][];
            for (int i = 0; i < types.length; i++) {
                values[i] = f.read(outs[i]);
            }
            return values;
        });
    }

    private static NormedRows input(OpFixture f, int rows, int columns, boolean normed) {
        Tensor x = f.input(rows, columns, 3);
        return normed
                ? new NormedRows(x, f.parameter(1, columns, 1, 0.3), 1e-5f, f.output(rows, columns))
                : NormedRows.plain(x);
    }

    private static OpCase route(RouterShape shape, QuantType type, int rows, boolean normed) {
        String name = PREFIX + "route of " + rows + " rows to " + shape.used() + " of " + shape.experts() + ", " + type
                + (normed ? ", normed" : "");
        return new OpCase(name, Kind.FLOAT, f -> {
            Weight router = f.weight(type, shape.experts(), 256, 0.3f);
            Routing routing = f.backend().routing(rows + 1, shape.used());
            Tensor logits = f.output(rows, shape.experts());
            Tensor read = f.ops().route(shape, router, input(f, rows, 256, normed), logits, routing);
            return new float[][] {f.ids(routing, rows), f.read(routing.weights().rows(rows)), f.read(read)};
        });
    }

    private static OpCase experts(
            QuantType type, QuantType down, int rows, @Nullable QuantType shared, boolean inject) {
        String name = PREFIX + "experts " + type + " and " + down + ", " + rows + " rows"
                + (shared == null ? "" : ", shared " + shared) + (inject ? ", injected" : "");
        return new OpCase(name, Kind.PRODUCT, f -> {
            int hidden = 256;
            int inner = 256;
            boolean scaled = type == QuantType.NVFP4;
            ExpertLayout layout = new ExpertLayout(0, 9, hidden, inner, type, type, down, scaled);
            ExpertLayer layer = f.backend().experts(MemoryExperts.random(f, layout, true), 0);
            Routing routing = f.backend().routing(rows, 3);
            int[] ids = new int[rows * 3];
            for (int i = 0; i < ids.length; i++) {
                ids[i] = (i * 5 + i / 3) % 9;
            }
            f.setRouting(routing, ids, f.gaussian(rows * 3, 0.2, 0.5));
            SharedExpert common = shared == null
                    ? null
                    : new SharedExpert(
                            f.weight(shared, 288, hidden),
                            f.weight(shared, 288, hidden, 0.6f),
                            f.weight(shared, hidden, 288),
                            rows == 3 ? null : f.parameter(1, hidden, 0, 0.2));
            Residual into = inject
                    ? new Residual(f.input(rows, 4 * hidden), f.input(rows, 4))
                    : Residual.plain(f.input(rows, hidden));
            f.ops().allExperts(layer, common, f.input(rows, hidden), routing, f.output(rows, hidden), into);
            return new float[][] {f.read(into.rows())};
        });
    }

    private static OpCase inject(int rows, QuantType type, int outputs, int columns) {
        return new OpCase(
                PREFIX + "product of " + rows + " rows of " + columns + " into streams of " + outputs,
                Kind.PRODUCT,
                f -> {
                    Residual into = new Residual(f.input(rows, 4 * outputs), f.input(rows, 4));
                    f.ops()
                            .matmulInto(
                                    f.weight(type, outputs, columns, 0.4f),
                                    f.input(rows, columns),
                                    f.output(rows, outputs),
                                    into);
                    return new float[][] {f.read(into.rows())};
                });
    }

    private static OpCase hyper(int rows, int streams, QuantType type, int rank, QuantType inject) {
        String name = PREFIX + "gated residual of " + rows + " rows, " + streams + " streams, " + type;
        return new OpCase(name, Kind.PRODUCT, f -> {
            int hidden = 256;
            HyperWeights weights = new HyperWeights(
                    streams,
                    f.parameter(1, streams * hidden, 1, 0.3),
                    f.weight(type, rank, streams * hidden, 0.1f),
                    f.weight(type, streams * hidden, rank),
                    f.weight(inject, streams, streams * hidden),
                    1e-6f);
            Tensor residual = f.input(rows, streams * hidden, 2);
            Tensor out = f.output(rows, hidden);
            Tensor strengths = f.output(rows, streams);
            f.ops().hyperMix(weights, residual, out, strengths);
            return new float[][] {f.read(out), f.read(strengths)};
        });
    }

    private static OpCase attend(AttentionShape shape, KvFormat format, int past) {
        return attend(
                shape.heads() + "/" + shape.kvHeads() + " heads of " + shape.headSize()
                        + (shape.outputGate() ? ", gated" : "") + ", " + format + " after " + past,
                shape,
                format,
                List.of(
                        new Batch(
                                new int[past + 3],
                                past == 0
                                        ? List.of(OpFixture.segment(0, 3, 0, 2))
                                        : List.of(OpFixture.segment(0, past, 0, 0), OpFixture.segment(past, 3, 0, 2)),
                                false),
                        new Batch(
                                new int[2],
                                List.of(OpFixture.segment(0, 1, past, 0), OpFixture.segment(1, 1, 3, 2)),
                                false),
                        OpFixture.batch(1, past + 1, false)));
    }

    /** Several rows of one sequence see each other. */
    private static OpCase attendWindow(KvFormat format) {
        return attend(
                "a window of rows, " + format,
                AttentionCases.shape(8, 2, 64, 32, false),
                format,
                List.of(
                        OpFixture.batch(126, 0, false),
                        OpFixture.batch(5, 126, false),
                        new Batch(
                                new int[8 + 2],
                                List.of(OpFixture.segment(0, 8, 131, 0), OpFixture.segment(8, 2, 0, 3)),
                                false)));
    }

    private static OpCase attend(String what, AttentionShape shape, KvFormat format, List<Batch> passes) {
        return new OpCase(PREFIX + "attention " + what, Kind.STORED, f -> {
            try (LayerState.Kv kv = f.backend().kv(shape, format, OpFixture.PAGES)) {
                Tensor queryNorm = f.parameter(1, shape.headSize(), 1, 0.2);
                Tensor keyNorm = f.parameter(1, shape.headSize(), 1, 0.2);
                float[][] results = new float[passes.size()][];
                for (int i = 0; i < passes.size(); i++) {
                    results[i] = attend(f, shape, kv, queryNorm, keyNorm, passes.get(i));
                }
                return results;
            }
        });
    }

    private static float[] attend(
            OpFixture f, AttentionShape shape, LayerState.Kv kv, Tensor queryNorm, Tensor keyNorm, Batch batch) {
        int rows = batch.rows();
        Tensor projected = f.input(rows, shape.projectedColumns());
        Tensor keys = f.input(rows, shape.kvColumns());
        Tensor values = f.input(rows, shape.kvColumns());
        Tensor queries = f.output(rows, shape.queryColumns());
        Tensor gates = shape.outputGate() ? f.output(rows, shape.queryColumns()) : null;
        // The result lies where the projections lie, as in the forward passes.
        Tensor out = new Tensor(projected.buffer(), projected.offset(), rows, shape.queryColumns());
        Tensor[] result = new Tensor[1];
        f.ops()
                .pass(
                        "fused attention",
                        batch,
                        () -> result[0] = f.ops()
                                .attend(
                                        shape, projected, keys, values, queryNorm, keyNorm, kv, null, batch, queries,
                                        gates, out));
        return f.read(result[0]);
    }
}
