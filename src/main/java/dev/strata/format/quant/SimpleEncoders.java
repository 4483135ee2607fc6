package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of the blocks that {@link SimpleDecoders} reads. */
final class SimpleEncoders {
    private static final Levels FOUR_BITS = Levels.range(-8, 7);
    private static final Levels FIVE_BITS = Levels.range(-16, 15);
    private static final Levels TWO_BITS = Levels.range(-1, 2);
    private static final Affine FOUR_BITS_AFFINE = new Affine(15, false);
    private static final Affine FIVE_BITS_AFFINE = new Affine(31, false);
    private static final float[] UNWEIGHTED = {};

    private SimpleEncoders() {}

    static void q8Zero(float[] source, int at, MemorySegment target, long offset) {
        float largest = 0;
        for (int i = 0; i < 32; i++) {
            largest = Math.max(largest, Math.abs(source[at + i]));
        }
        float scale = largest / 127;
        float inverse = scale == 0 ? 0 : 1 / scale;
        Fields.putF16(target, offset, scale);
        for (int i = 0; i < 32; i++) {
            Fields.put8(target, offset + 2 + i, Math.clamp(Math.round(source[at + i] * inverse), -127, 127));
        }
    }

    /** Writes a fitted scale as float16 and gives it as a reader will see it. */
    static float putScale(MemorySegment target, long offset, float scale) {
        Fields.putF16(target, offset, scale);
        return Fields.f16(target, offset);
    }

    static void q4Zero(float[] source, int at, MemorySegment target, long offset) {
        float scale = putScale(target, offset, FOUR_BITS.fit(source, at, 32, UNWEIGHTED));
        int[] quants = new int[32];
        FOUR_BITS.quantize(source, at, 32, scale, quants, 0);
        putNibbles(quants, 0, target, offset + 2);
    }

    /** Sixteen bytes: quants 0-15 in the low nibbles, 16-31 in the high ones; a fifth bit is left out. */
    static void putNibbles(int[] quants, int from, MemorySegment target, long offset) {
        for (int i = 0; i < 16; i++) {
            Fields.put8(target, offset + i, quants[from + i] & 15 | (quants[from + 16 + i] & 15) << 4);
        }
    }

    private static int fifthBits(int[] quants) {
        int bits = 0;
        for (int i = 0; i < 32; i++) {
            bits |= (quants[i] >> 4 & 1) << i;
        }
        return bits;
    }

    static void q5Zero(float[] source, int at, MemorySegment target, long offset) {
        float scale = putScale(target, offset, FIVE_BITS.fit(source, at, 32, UNWEIGHTED));
        int[] quants = new int[32];
        FIVE_BITS.quantize(source, at, 32, scale, quants, 0);
        Fields.put32(target, offset + 2, fifthBits(quants));
        putNibbles(quants, 0, target, offset + 6);
    }

    static void q4One(float[] source, int at, MemorySegment target, long offset) {
        putNibbles(affine(FOUR_BITS_AFFINE, source, at, target, offset), 0, target, offset + 4);
    }

    static void q5One(float[] source, int at, MemorySegment target, long offset) {
        int[] quants = affine(FIVE_BITS_AFFINE, source, at, target, offset);
        Fields.put32(target, offset + 4, fifthBits(quants));
        putNibbles(quants, 0, target, offset + 8);
    }

    private static int[] affine(Affine affine, float[] source, int at, MemorySegment target, long offset) {
        Affine.Fit fit = affine.fit(source, at, 32);
        float scale = putScale(target, offset, fit.scale());
        float minimum = putScale(target, offset + 2, fit.minimum());
        int[] quants = new int[32];
        for (int i = 0; i < 32; i++) {
            quants[i] = affine.quantize(source[at + i], scale, minimum);
        }
        return quants;
    }

    static void q2Zero(float[] source, int at, MemorySegment target, long offset) {
        float scale = putScale(target, offset, TWO_BITS.fit(source, at, 64, UNWEIGHTED));
        int[] quants = new int[64];
        TWO_BITS.quantize(source, at, 64, scale, quants, 0);
        for (int i = 0; i < 16; i++) {
            Fields.put8(
                    target,
                    offset + 2 + i,
                    quants[4 * i] | quants[4 * i + 1] << 2 | quants[4 * i + 2] << 4 | quants[4 * i + 3] << 6);
        }
    }

    /** Signs with the mean magnitude, which is the least-squares scale for them. */
    static void q1Zero(float[] source, int at, MemorySegment target, long offset) {
        double sum = 0;
        for (int i = 0; i < 128; i++) {
            sum += Math.abs(source[at + i]);
        }
        Fields.putF16(target, offset, (float) (sum / 128));
        for (int i = 0; i < 16; i++) {
            int bits = 0;
            for (int j = 0; j < 8; j++) {
                bits |= source[at + 8 * i + j] >= 0 ? 1 << j : 0;
            }
            Fields.put8(target, offset + 2 + i, bits);
        }
    }
}
