package dev.strata.device.reference;

import dev.strata.device.Tensor;

/** RMS norms: x / sqrt(mean(x^2) + epsilon) * weight. */
final class Norms {
    private Norms() {}

    static void rms(Tensor in, Tensor weight, int group, float epsilon, Tensor out) {
        float[] values = Floats.load(in);
        rms(values, in.columns(), Floats.load(weight), group, epsilon);
        Floats.store(values, out);
    }

    /** Norms every run of {@code group} values in place; the weight is repeated over {@code columns}. */
    static void rms(float[] values, int columns, float[] weight, int group, float epsilon) {
        for (int start = 0; start < values.length; start += group) {
            rmsRun(values, start, group, weight, start % columns % weight.length, epsilon);
        }
    }

    /** Norms {@code count} values from {@code start} on, in place. */
    static void rmsRun(float[] values, int start, int count, float[] weight, int weightOffset, float epsilon) {
        double factor = 1 / Math.sqrt(Floats.dot(values, start, values, start, count) / count + epsilon);
        for (int i = 0; i < count; i++) {
            values[start + i] = (float) (values[start + i] * factor * weight[weightOffset + i]);
        }
    }
}
