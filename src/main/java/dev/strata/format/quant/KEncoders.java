package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of the super-blocks with one scale for each group and one for all: Q3_K, Q6_K, IQ4_XS. */
final class KEncoders {
    private static final Levels THREE_BITS = Levels.range(-4, 3);
    private static final Levels SIX_BITS = Levels.range(-32, 31);
    private static final Levels EIGHT_BITS = Levels.range(-128, 127);
    private static final Levels UNEVEN =
            Levels.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    private static final float[] UNWEIGHTED = {};

    private KEncoders() {}

    /** Quants of 256 elements, the whole-number scale of each group, and the float16 scale of all. */
    private record Fitted(int[] quants, int[] scales, float scale) {}

    /**
     * Fits each group, then the scales of all groups by one more scale, counted by how much each group's quants make of an error in it,
     * then chooses the quants anew for the scales as stored.
     */
    private static Fitted fit(float[] source, int at, int groupSize, Levels levels, Levels scaleLevels) {
        int groups = 256 / groupSize;
        float[] scales = new float[groups];
        float[] weights = new float[groups];
        int[] quants = new int[256];
        for (int group = 0; group < groups; group++) {
            int from = group * groupSize;
            scales[group] = levels.fit(source, at + from, groupSize, UNWEIGHTED);
            levels.quantize(source, at + from, groupSize, scales[group], quants, from);
            for (int i = from; i < from + groupSize; i++) {
                float level = levels.value(quants[i]);
                weights[group] += level * level;
            }
        }
        float scale = half(scaleLevels.fit(scales, 0, groups, weights));
        int[] whole = new int[groups];
        scaleLevels.quantize(scales, 0, groups, scale, whole, 0);
        for (int group = 0; group < groups; group++) {
            whole[group] = Math.round(scaleLevels.value(whole[group]));
            levels.quantize(source, at + group * groupSize, groupSize, scale * whole[group], quants, group * groupSize);
        }
        return new Fitted(quants, whole, scale);
    }

    static float half(float value) {
        return Float.float16ToFloat(Float.floatToFloat16(value));
    }

    static void q3(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 16, THREE_BITS, SIX_BITS);
        clear(target, offset, 110);
        for (int e = 0; e < 256; e++) {
            int quant = fitted.quants[e];
            long low = offset + 32 + 32 * (e / 128) + e % 32;
            Fields.put8(target, low, Fields.u8(target, low) | (quant & 3) << 2 * (e % 128 / 32));
            long high = offset + e % 32;
            Fields.put8(target, high, Fields.u8(target, high) | quant >> 2 << e / 32);
        }
        for (int group = 0; group < 16; group++) {
            int scale = fitted.scales[group] + 32;
            long low = offset + 96 + group % 8;
            Fields.put8(target, low, Fields.u8(target, low) | (scale & 15) << 4 * (group / 8));
            long high = offset + 104 + group % 4;
            Fields.put8(target, high, Fields.u8(target, high) | scale >> 4 << 2 * (group / 4));
        }
        Fields.putF16(target, offset + 108, fitted.scale);
    }

    static void q6(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 16, SIX_BITS, EIGHT_BITS);
        clear(target, offset, 210);
        for (int e = 0; e < 256; e++) {
            int quant = fitted.quants[e];
            int half = e / 128;
            int r = e % 128;
            long low = offset + 64 * half + r % 64;
            Fields.put8(target, low, Fields.u8(target, low) | (quant & 15) << 4 * (r / 64));
            long high = offset + 128 + 32 * half + r % 32;
            Fields.put8(target, high, Fields.u8(target, high) | quant >> 4 << 2 * (r / 32));
        }
        for (int group = 0; group < 16; group++) {
            Fields.put8(target, offset + 192 + group, fitted.scales[group]);
        }
        Fields.putF16(target, offset + 208, fitted.scale);
    }

    static void iq4xs(float[] source, int at, MemorySegment target, long offset) {
        Fitted fitted = fit(source, at, 32, UNEVEN, SIX_BITS);
        clear(target, offset, 136);
        Fields.putF16(target, offset, fitted.scale);
        int high = 0;
        for (int group = 0; group < 8; group++) {
            int scale = fitted.scales[group] + 32;
            long low = offset + 4 + group / 2;
            Fields.put8(target, low, Fields.u8(target, low) | (scale & 15) << 4 * (group % 2));
            high |= scale >> 4 << 2 * group;
            SimpleEncoders.putNibbles(fitted.quants, 32 * group, target, offset + 8 + 16 * group);
        }
        Fields.put16(target, offset + 2, high);
    }

    static void iq4nl(float[] source, int at, MemorySegment target, long offset) {
        float scale = SimpleEncoders.putScale(target, offset, UNEVEN.fit(source, at, 32, UNWEIGHTED));
        int[] quants = new int[32];
        UNEVEN.quantize(source, at, 32, scale, quants, 0);
        SimpleEncoders.putNibbles(quants, 0, target, offset + 2);
    }

    static void clear(MemorySegment target, long offset, long bytes) {
        target.asSlice(offset, bytes).fill((byte) 0);
    }
}
