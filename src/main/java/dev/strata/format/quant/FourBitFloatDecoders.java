package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Blocks of E2M1 numbers: MXFP4 (a power of two for 32) and NVFP4 (a UE4M3 scale for each 16 of 64). */
final class FourBitFloatDecoders {
    /** E2M1 values, doubled so that all are whole; bit 3 is the sign. */
    private static final byte[] DOUBLED = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

    private static final float[] UE4M3 = new float[256];

    static {
        for (int i = 0; i < 256; i++) {
            int bits = i & 127;
            int exponent = bits >> 3;
            int mantissa = bits & 7;
            float value = exponent == 0
                    ? mantissa * 0x1p-9f
                    : (1 + mantissa / 8f) * Float.intBitsToFloat(exponent - 7 + 127 << 23);
            UE4M3[i] = bits == 0x7f ? 0 : value;
        }
    }

    private FourBitFloatDecoders() {}

    static void mxfp4(MemorySegment source, long offset, float[] target, int at) {
        float scale = halfPower(Fields.u8(source, offset));
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + 1 + i);
            target[at + i] = DOUBLED[pair & 15] * scale;
            target[at + 16 + i] = DOUBLED[pair >> 4] * scale;
        }
    }

    /** 2^(exponent - 128): the E8M0 scale halved, because the numbers are doubled. The lowest two are subnormal. */
    static float halfPower(int exponent) {
        return exponent < 2 ? Float.intBitsToFloat(0x200000 << exponent) : Float.intBitsToFloat(exponent - 1 << 23);
    }

    static void nvfp4(MemorySegment source, long offset, float[] target, int at) {
        for (int group = 0; group < 4; group++) {
            float scale = ue4m3(Fields.u8(source, offset + group)) * 0.5f;
            for (int i = 0; i < 8; i++) {
                int pair = Fields.u8(source, offset + 4 + 8 * group + i);
                target[at + 16 * group + i] = DOUBLED[pair & 15] * scale;
                target[at + 16 * group + 8 + i] = DOUBLED[pair >> 4] * scale;
            }
        }
    }

    /** Value of an unsigned E4M3 scale; the sign bit is ignored, 0x7F counts as zero. */
    static float ue4m3(int bits) {
        return UE4M3[bits];
    }

    static int doubled(int nibble) {
        return DOUBLED[nibble];
    }
}
