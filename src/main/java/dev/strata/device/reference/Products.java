package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import java.lang.foreign.MemorySegment;

/** Products with stored matrices. Every output row is decoded once for all input rows; sums are in double precision. */
final class Products {
    private final Workers workers;

    Products(Workers workers) {
        this.workers = workers;
    }

    /** scale * W in, row by row: [rows, outputs] from {@code in} [rows, inputs]. */
    float[] multiply(Weight weight, float[] in, int rows) {
        float[] out = new float[Math.multiplyExact(rows, weight.outputs())];
        int inputs = weight.inputs();
        InputPanels panels = rows < InputPanels.WORTHWHILE ? null : InputPanels.of(in, rows, inputs);
        workers.range(weight.outputs(), (long) inputs * (rows + 1), (from, to) -> {
            float[] decoded = new float[inputs];
            for (int output = from; output < to; output++) {
                decodeRow(weight, output, decoded);
                if (panels != null) {
                    panels.multiply(decoded, weight.scale(), out, output, weight.outputs());
                    continue;
                }
                for (int row = 0; row < rows; row++) {
                    double sum = Floats.dot(decoded, 0, in, row * inputs, inputs);
                    out[row * weight.outputs() + output] = (float) (sum * weight.scale());
                }
            }
        });
        return out;
    }

    void multiply(Weight weight, Tensor in, Tensor out) {
        Floats.store(multiply(weight, Floats.load(in), in.rows()), out);
    }

    void multiplyAdd(Weight weight, Tensor in, Tensor into) {
        float[] product = multiply(weight, Floats.load(in), in.rows());
        float[] sum = Floats.load(into);
        for (int i = 0; i < sum.length; i++) {
            sum[i] += product[i];
        }
        Floats.store(sum, into);
    }

    /** Decodes row {@code output} of the matrix, without its scale. */
    static void decodeRow(Weight weight, int output, float[] target) {
        decode(
                weight.type(),
                weight.buffer().host(),
                weight.offset() + output * weight.rowBytes(),
                target,
                weight.inputs());
    }

    /** Decodes {@code count} elements at {@code offset}. */
    static void decode(QuantType type, MemorySegment source, long offset, float[] target, int count) {
        switch (type) {
            case F32 -> MemorySegment.copy(source, JAVA_FLOAT_UNALIGNED, offset, target, 0, count);
            case BF16 -> {
                for (int i = 0; i < count; i++) {
                    target[i] = Float.intBitsToFloat(source.get(JAVA_SHORT_UNALIGNED, offset + 2L * i) << 16);
                }
            }
            case F16 -> {
                for (int i = 0; i < count; i++) {
                    target[i] = Float.float16ToFloat(source.get(JAVA_SHORT_UNALIGNED, offset + 2L * i));
                }
            }
            default -> Quants.decode(type, source, offset, target, 0, count);
        }
    }
}
