package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;

/** Moves tensor values to and from arrays, and the few scalar functions of the equations. */
final class Floats {
    private Floats() {}

    /** All values of the tensor, row after row. */
    static float[] load(Tensor tensor) {
        return load(tensor, 0, tensor.rows());
    }

    /** The values of {@code count} rows from {@code first} on. */
    static float[] load(Tensor tensor, int first, int count) {
        float[] values = new float[Math.multiplyExact(count, tensor.columns())];
        MemorySegment.copy(
                tensor.buffer().host(),
                JAVA_FLOAT_UNALIGNED,
                tensor.offset() + 4L * first * tensor.columns(),
                values,
                0,
                values.length);
        return values;
    }

    static void store(float[] values, Tensor tensor) {
        store(values, 0, values.length, tensor, 0);
    }

    /** Writes {@code count} values to the tensor from row {@code firstRow} on. */
    static void store(float[] values, int offset, int count, Tensor tensor, int firstRow) {
        MemorySegment.copy(
                values,
                offset,
                tensor.buffer().host(),
                JAVA_FLOAT_UNALIGNED,
                tensor.offset() + 4L * firstRow * tensor.columns(),
                count);
    }

    /** The inner product in double precision; four partial sums in a fixed order. */
    static double dot(float[] left, int leftOffset, float[] right, int rightOffset, int count) {
        double a = 0;
        double b = 0;
        double c = 0;
        double d = 0;
        int i = 0;
        for (; i + 3 < count; i += 4) {
            a += (double) left[leftOffset + i] * right[rightOffset + i];
            b += (double) left[leftOffset + i + 1] * right[rightOffset + i + 1];
            c += (double) left[leftOffset + i + 2] * right[rightOffset + i + 2];
            d += (double) left[leftOffset + i + 3] * right[rightOffset + i + 3];
        }
        for (; i < count; i++) {
            a += (double) left[leftOffset + i] * right[rightOffset + i];
        }
        return (a + b) + (c + d);
    }

    static double sigmoid(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    static double silu(double x) {
        return x / (1 + Math.exp(-x));
    }

    /** log(1 + exp(x)), exact for large x too. */
    static double softplus(double x) {
        return x > 30 ? x : Math.log1p(Math.exp(x));
    }
}
