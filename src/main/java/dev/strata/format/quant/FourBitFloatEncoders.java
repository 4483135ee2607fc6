package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of MXFP4 and NVFP4: the stored scales near the one that the largest number asks for are tried in turn. */
final class FourBitFloatEncoders {
    private static final int LARGEST_UE4M3 = 0x7e;

    private FourBitFloatEncoders() {}

    static void mxfp4(float[] source, int at, MemorySegment target, long offset) {
        float largest = largest(source, at, 32);
        int start = Math.clamp(Math.getExponent(Math.max(largest, Float.MIN_NORMAL)) - 2 + 127, 0, 254);
        int best = start;
        double bestError = Double.POSITIVE_INFINITY;
        for (int exponent = Math.max(0, start - 1); exponent <= Math.min(254, start + 1); exponent++) {
            double error = error(source, at, 32, FourBitFloatDecoders.halfPower(exponent));
            if (error < bestError) {
                bestError = error;
                best = exponent;
            }
        }
        Fields.put8(target, offset, best);
        float scale = FourBitFloatDecoders.halfPower(best);
        for (int i = 0; i < 16; i++) {
            int low = nearest(source[at + i], scale);
            Fields.put8(target, offset + 1 + i, low | nearest(source[at + 16 + i], scale) << 4);
        }
    }

    static void nvfp4(float[] source, int at, MemorySegment target, long offset) {
        for (int group = 0; group < 4; group++) {
            int from = at + 16 * group;
            int code = bestScale(source, from);
            Fields.put8(target, offset + group, code);
            float scale = FourBitFloatDecoders.ue4m3(code) * 0.5f;
            for (int i = 0; i < 8; i++) {
                int low = nearest(source[from + i], scale);
                Fields.put8(target, offset + 4 + 8 * group + i, low | nearest(source[from + 8 + i], scale) << 4);
            }
        }
    }

    private static int bestScale(float[] source, int from) {
        float wanted = largest(source, from, 16) / 6;
        int start = 0;
        while (start < LARGEST_UE4M3 && FourBitFloatDecoders.ue4m3(start) < wanted) {
            start++;
        }
        int best = 0;
        double bestError = Double.POSITIVE_INFINITY;
        for (int code = Math.max(0, start - 5); code <= Math.min(LARGEST_UE4M3, start + 3); code++) {
            double error = error(source, from, 16, FourBitFloatDecoders.ue4m3(code) * 0.5f);
            if (error < bestError) {
                bestError = error;
                best = code;
            }
        }
        return best;
    }

    private static float largest(float[] source, int at, int count) {
        float largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest, Math.abs(source[at + i]));
        }
        return largest;
    }

    private static double error(float[] source, int at, int count, float scale) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            float x = source[at + i];
            double difference = x - FourBitFloatDecoders.doubled(nearest(x, scale)) * scale;
            sum += difference * difference;
        }
        return sum;
    }

    /** The nibble nearest to {@code x}; doubled magnitudes are 0 1 2 3 4 6 8 12. */
    private static int nearest(float x, float scale) {
        float magnitude = scale == 0 ? 0 : Math.abs(x) / scale;
        int nibble;
        if (magnitude < 5) {
            nibble = magnitude < 3.5f ? Math.round(magnitude) : 4;
        } else {
            nibble = magnitude < 7 ? 5 : magnitude < 10 ? 6 : 7;
        }
        return x < 0 && nibble > 0 ? nibble | 8 : nibble;
    }
}
