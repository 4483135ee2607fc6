package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Routers, routed experts of every stored type, shared experts. */
final class ExpertCases {
    private ExpertCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (int rows : new int[] {1, 7, 65}) {
            cases.add(route(new RouterShape(8, 2, true, 1), rows, false));
            cases.add(route(new RouterShape(128, 8, true, 1), rows, false));
            cases.add(route(new RouterShape(512, 10, true, 2.5f), rows, false));
            cases.add(route(new RouterShape(60, 4, false, 1), rows, false));
            cases.add(route(new RouterShape(33, 33, true, 1), rows, false));
            cases.add(route(new RouterShape(64, 6, true, 1), rows, true));
        }
        for (QuantType type : ProductCases.TYPES) {
            int hidden = ProductCases.inputs(type, 2);
            cases.add(experts(type, type, hidden, ProductCases.inputs(type, 1), 1, true));
            cases.add(experts(type, type, hidden, ProductCases.inputs(type, 1), 13, true));
        }
        cases.add(experts(QuantType.Q2_0, QuantType.IQ4_NL, 256, 96, 40, true));
        cases.add(experts(QuantType.Q4_K, QuantType.Q6_K, 256, 256, 9, false));
        cases.add(experts(QuantType.BF16, QuantType.BF16, 64, 32, 130, false));
        for (QuantType type : List.of(QuantType.NVFP4, QuantType.Q8_0, QuantType.Q4_K)) {
            cases.add(experts(type, type, 256, 256, 40, true));
        }
        for (int rows : new int[] {33, 140}) {
            cases.add(allRowsToOneExpert(rows));
        }
        for (int rows : new int[] {1, 5, 65}) {
            cases.add(shared(QuantType.BF16, rows, true));
            cases.add(shared(QuantType.Q8_0, rows, true));
            cases.add(shared(QuantType.Q5_0, rows, false));
        }
        return cases;
    }

    private static OpCase route(RouterShape shape, int rows, boolean ties) {
        String name = "route " + rows + " rows to " + shape.used() + " of " + shape.experts()
                + (shape.renormalise() ? "" : ", not renormalised") + (ties ? ", equal scores" : "");
        return new OpCase(name, Kind.FLOAT, f -> {
            Tensor logits = f.input(rows, shape.experts(), 2);
            if (ties) {
                float[] values = f.read(logits);
                for (int i = 0; i < values.length; i++) {
                    values[i] = Math.round(values[i]);
                }
                f.write(logits, values);
            }
            Routing routing = f.backend().routing(rows, shape.used());
            f.ops().route(shape, logits, routing);
            return new float[][] {f.ids(routing, rows), f.read(routing.weights().rows(rows))};
        });
    }

    private static OpCase experts(
            QuantType type, QuantType down, int hidden, int intermediate, int rows, boolean visible) {
        String name = "experts " + type + " and " + down + ", " + hidden + " x " + intermediate + ", " + rows + " rows"
                + (visible ? "" : ", copied");
        return new OpCase(name, Kind.PRODUCT, f -> {
            boolean scaled = type == QuantType.NVFP4;
            ExpertLayout layout = new ExpertLayout(0, 7, hidden, intermediate, type, type, down, scaled);
            ExpertLayer layer = f.backend().experts(MemoryExperts.random(f, layout, visible), 0);
            Routing routing = f.backend().routing(rows + 2, 3);
            int[] ids = new int[rows * 3];
            float[] weights = new float[rows * 3];
            for (int row = 0; row < rows; row++) {
                int first = f.random().nextInt(7);
                for (int i = 0; i < 3; i++) {
                    ids[row * 3 + i] = (first + i * 2) % 7;
                    weights[row * 3 + i] = f.random().nextFloat();
                }
            }
            f.setRouting(routing, ids, weights);
            Tensor out = f.output(rows, hidden);
            f.ops().experts(layer, f.input(rows, hidden), routing, out);
            return new float[][] {f.read(out)};
        });
    }

    private static OpCase allRowsToOneExpert(int rows) {
        return new OpCase("experts, all " + rows + " rows to one", Kind.PRODUCT, f -> {
            ExpertLayout layout = new ExpertLayout(0, 5, 64, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false);
            ExpertLayer layer = f.backend().experts(MemoryExperts.random(f, layout, true), 0);
            Routing routing = f.backend().routing(rows, 1);
            f.setRouting(routing, IntStream.generate(() -> 4).limit(rows).toArray(), f.gaussian(rows, 0.1, 1));
            Tensor out = f.output(rows, 64);
            f.ops().experts(layer, f.input(rows, 64), routing, out);
            return new float[][] {f.read(out)};
        });
    }

    private static OpCase shared(QuantType type, int rows, boolean gate) {
        String name = "shared expert " + type + ", " + rows + " rows" + (gate ? "" : ", no gate");
        return new OpCase(name, Kind.PRODUCT, f -> {
            SharedExpert expert = new SharedExpert(
                    f.weight(type, 32, 96),
                    f.weight(type, 32, 96),
                    f.weight(type, 96, 32),
                    gate ? f.parameter(1, 96, 0, 0.2) : null);
            Tensor into = f.input(rows, 96);
            f.ops().sharedExpert(expert, f.inputView(rows, 96), into);
            return new float[][] {f.read(into)};
        });
    }
}
