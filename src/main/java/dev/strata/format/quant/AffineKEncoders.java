package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of the super-blocks with a scale and a minimum for each group: Q2_K, Q4_K, Q5_K. */
final class AffineKEncoders {
    private static final float[] UNWEIGHTED = {};

    private AffineKEncoders() {}

    /** Quants, whole-number scales and (negated) minimums of the groups, and the float16 scales of both. */
    private record Fitted(int[] quants, int[] scales, int[] minimums, float scale, float minimumScale) {}

    private static Fitted fit(float[] source, int at, int groupSize, Affine affine, Levels scaleLevels) {
        int groups = 256 / groupSize;
        float[] scales = new float[groups];
        float[] minimums = new float[groups];
        float[] weights = new float[groups];
        for (int group = 0; group < groups; group++) {
            Affine.Fit fit = affine.fit(source, at + group * groupSize, groupSize);
            scales[group] = fit.scale();
            minimums[group] = -fit.minimum();
            for (int i = 0; i < groupSize; i++) {
                int quant = affine.quantize(source[at + group * groupSize + i], fit.scale(), fit.minimum());
                weights[group] += quant * quant;
            }
        }
        float scale = KEncoders.half(scaleLevels.fit(scales, 0, groups, weights));
        float minimumScale = KEncoders.half(scaleLevels.fit(minimums, 0, groups, UNWEIGHTED));
        int[] wholeScales = new int[groups];
        int[] wholeMinimums = new int[groups];
        scaleLevels.quantize(minimums, 0, groups, minimumScale, wholeMinimums, 0);
        scaleLevels.quantize(scales, 0, groups, scale, wholeScales, 0);
        int[] quants = new int[256];
        for (int group = 0; group < groups; group++) {
            int from = group * groupSize;
            chooseSteps(source, at + from, groupSize, affine, scale, minimumScale, wholeScales, wholeMinimums, group);
            for (int i = from; i < from + groupSize; i++) {
                quants[i] = affine.quantize(
                        source[at + i], scale * wholeScales[group], -minimumScale * wholeMinimums[group]);
            }
        }
        return new Fitted(quants, wholeScales, wholeMinimums, scale, minimumScale);
    }

    /** Tries the neighbouring steps of a group's scale and minimum, because rounding each alone is not the best pair. */
    private static void chooseSteps(
            float[] source,
            int at,
            int count,
            Affine affine,
            float scale,
            float minimumScale,
            int[] scales,
            int[] minimums,
            int group) {
        int top = affine.top() == 3 ? 15 : 63;
        int bestScale = scales[group];
        int bestMinimum = minimums[group];
        float best = Float.POSITIVE_INFINITY;
        for (int s = Math.max(0, scales[group] - 1); s <= Math.min(top, scales[group] + 1); s++) {
            for (int m = Math.max(0, minimums[group] - 1); m <= Math.min(top, minimums[group] + 1); m++) {
                float error = 0;
                float step = scale * s;
                float minimum = -minimumScale * m;
                for (int i = 0; i < count; i++) {
                    float difference =
                            source[at + i] - (step * affine.quantize(source[at + i], step, minimum) + minimum);
                    error += difference * difference;
                }
                if (error < best) {
                    best = error;
                    bestScale = s;
                    bestMinimum = m;
                }
            }
        }
        scales[group] = bestScale;
        minimums[group] = bestMinimum;
    }

    private static final Affine TWO_BITS = new Affine(3, true);
    private static final Affine FOUR_BITS = new Affine(15, true);
    private static final Affine FIVE_BITS = new Affine(31, true);
    private static final Levels FOUR_BIT_STEPS = Levels.range(0, 15);
    private static final Levels SIX_BIT_STEPS = Levels.range(0, 63);

    static void q2(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 16, TWO_BITS, FOUR_BIT_STEPS);
        KEncoders.clear(target, offset, 84);
        for (int group = 0; group < 16; group++) {
            Fields.put8(target, offset + group, fitted.scales[group] | fitted.minimums[group] << 4);
        }
        for (int e = 0; e < 256; e++) {
            long byteAt = offset + 16 + 32 * (e / 128) + e % 32;
            Fields.put8(target, byteAt, Fields.u8(target, byteAt) | fitted.quants[e] << 2 * (e % 128 / 32));
        }
        Fields.putF16(target, offset + 80, fitted.scale);
        Fields.putF16(target, offset + 82, fitted.minimumScale);
    }

    static void q4(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 32, FOUR_BITS, SIX_BIT_STEPS);
        KEncoders.clear(target, offset, 144);
        head(fitted, target, offset);
        putPairs(fitted.quants, target, offset + 16);
    }

    static void q5(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 32, FIVE_BITS, SIX_BIT_STEPS);
        KEncoders.clear(target, offset, 176);
        head(fitted, target, offset);
        for (int e = 0; e < 256; e++) {
            long high = offset + 16 + e % 32;
            Fields.put8(target, high, Fields.u8(target, high) | fitted.quants[e] >> 4 << e / 32);
        }
        putPairs(fitted.quants, target, offset + 48);
    }

    private static void head(Fitted fitted, MemorySegment target, long offset) {
        Fields.putF16(target, offset, fitted.scale);
        Fields.putF16(target, offset + 2, fitted.minimumScale);
        long packed = offset + 4;
        for (int group = 0; group < 4; group++) {
            int highScale = fitted.scales[group + 4];
            int highMinimum = fitted.minimums[group + 4];
            Fields.put8(target, packed + group, fitted.scales[group] | highScale >> 4 << 6);
            Fields.put8(target, packed + group + 4, fitted.minimums[group] | highMinimum >> 4 << 6);
            Fields.put8(target, packed + group + 8, highScale & 15 | (highMinimum & 15) << 4);
        }
    }

    /** Even groups of 32 in the low nibbles, the odd group after each in the high ones. */
    private static void putPairs(int[] quants, MemorySegment target, long offset) {
        for (int pair = 0; pair < 4; pair++) {
            for (int i = 0; i < 32; i++) {
                int low = quants[64 * pair + i] & 15;
                int high = quants[64 * pair + 32 + i] & 15;
                Fields.put8(target, offset + 32 * pair + i, low | high << 4);
            }
        }
    }
}
