package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Products with matrices of every stored type. */
final class ProductCases {
    /** All types that matrices are stored in. */
    static final Set<QuantType> TYPES =
            EnumSet.complementOf(EnumSet.of(QuantType.I8, QuantType.I16, QuantType.I32, QuantType.I64, QuantType.F64));

    private ProductCases() {}

    /** An input length of the type: {@code blocks} of its blocks, an odd number for plain types. */
    static int inputs(QuantType type, int blocks) {
        return type.blockElements() == 1 ? 32 * blocks + 5 : type.blockElements() * blocks;
    }

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (QuantType type : TYPES) {
            for (int rows : new int[] {1, 2, 7, 33}) {
                cases.add(product(type, rows, 13, inputs(type, 3), 1));
            }
            cases.add(product(type, 65, 65, inputs(type, 1), 1));
            cases.add(singleOutputs(type, inputs(type, 5)));
            cases.add(product(type, 3, 130, inputs(type, 4), 0.37f));
            cases.add(productAdd(type, 3, 7, inputs(type, 2)));
            cases.add(productAdd(type, 65, 33, inputs(type, 2)));
        }
        cases.add(product(QuantType.Q8_0, 270, 140, 192, 1));
        cases.add(product(QuantType.F32, 90, 128, 100, 1));
        for (int rows : new int[] {1, 3, 8, 40}) {
            cases.add(products(rows, QuantType.Q4_K, QuantType.Q8_0, QuantType.F32, QuantType.BF16));
            cases.add(products(rows, QuantType.NVFP4, QuantType.NVFP4, QuantType.NVFP4));
            cases.add(products(rows, QuantType.IQ3_S, QuantType.Q6_K));
        }
        for (int size : new int[] {1, 3, 7, 13, 65}) {
            cases.add(product(QuantType.F32, size, size, size, 1));
            cases.add(product(QuantType.BF16, size, size, size, 1));
            cases.add(product(QuantType.F16, size, size, size, 1));
        }
        return cases;
    }

    private static OpCase product(QuantType type, int rows, int outputs, int inputs, float scale) {
        String name = "matmul " + type + " " + rows + " rows, " + outputs + " x " + inputs;
        return new OpCase(name, Kind.PRODUCT, f -> {
            Weight weight = f.weight(type, outputs, inputs, scale);
            Tensor out = f.output(rows, outputs);
            f.ops().matmul(weight, f.inputView(rows, inputs), out);
            return new float[][] {f.read(out)};
        });
    }

    /** One row and one output at a time; a single sum may lie near zero, where its size is no measure of what was added up. */
    private static OpCase singleOutputs(QuantType type, int inputs) {
        return new OpCase("matmul " + type + " 1 rows, 1 x " + inputs + " eight times", Kind.PRODUCT, f -> {
            float[] values = new float[8];
            for (int i = 0; i < values.length; i++) {
                Tensor out = f.output(1, 1);
                f.ops().matmul(f.weight(type, 1, inputs), f.inputView(1, inputs), out);
                values[i] = f.read(out)[0];
            }
            return new float[][] {values};
        });
    }

    /** Matrices of different types and heights with the same rows. */
    private static OpCase products(int rows, QuantType... types) {
        return new OpCase("matmul all " + List.of(types) + " " + rows + " rows", Kind.PRODUCT, f -> {
            Weight[] weights = new Weight[types.length];
            Tensor[] outs = new Tensor[types.length];
            for (int i = 0; i < types.length; i++) {
                weights[i] = f.weight(types[i], 5 + 27 * i, 512, i == 1 ? 0.7f : 1);
                outs[i] = f.output(rows, weights[i].outputs());
            }
            f.ops().matmulAll(weights, f.inputView(rows, 512), outs);
            float[][] values = new float[types.length][];
            for (int i = 0; i < types.length; i++) {
                values[i] = f.read(outs[i]);
            }
            return values;
        });
    }

    private static OpCase productAdd(QuantType type, int rows, int outputs, int inputs) {
        String name = "matmul and add " + type + " " + rows + " rows, " + outputs + " x " + inputs;
        return new OpCase(name, Kind.PRODUCT, f -> {
            Weight weight = f.weight(type, outputs, inputs);
            Tensor into = f.inputView(rows, outputs);
            f.ops().matmulAdd(weight, f.input(rows, inputs), into);
            return new float[][] {f.read(into)};
        });
    }
}
