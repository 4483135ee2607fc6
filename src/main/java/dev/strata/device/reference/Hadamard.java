package dev.strata.device.reference;

/** Products with an orthonormal Hadamard matrix in Sylvester's order, which is its own inverse. */
final class Hadamard {
    private Hadamard() {}

    /** Turns {@code count} values from {@code offset} on; {@code count} is a power of two. */
    static void turn(float[] values, int offset, int count) {
        for (int stride = 1; stride < count; stride *= 2) {
            for (int start = offset; start < offset + count; start += 2 * stride) {
                for (int i = start; i < start + stride; i++) {
                    float low = values[i];
                    float high = values[i + stride];
                    values[i] = low + high;
                    values[i + stride] = low - high;
                }
            }
        }
        float factor = (float) (1 / Math.sqrt(count));
        for (int i = offset; i < offset + count; i++) {
            values[i] *= factor;
        }
    }
}
