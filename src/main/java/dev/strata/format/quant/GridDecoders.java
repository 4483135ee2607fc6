package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Super-blocks of 256 elements whose magnitudes are rows of a {@link Grid}: the IQ1, IQ2 and IQ3 types. */
final class GridDecoders {
    private static final float DELTA = 0.125f;

    private GridDecoders() {}

    /** Eight sign bits from seven: their parity is even. */
    static int signs(int seven) {
        return seven | (Integer.bitCount(seven) & 1) << 7;
    }

    static void iq2xxs(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int group = 0; group < 8; group++) {
            long field = offset + 2 + 8 * group;
            int packed = Fields.i32(source, field + 4);
            float groupScale = scale * (0.5f + (packed >>> 28)) * 0.25f;
            for (int l = 0; l < 4; l++) {
                int signs = signs(packed >>> 7 * l & 127);
                row(Grid.IQ2_XXS, Fields.u8(source, field + l), groupScale, signs, target, at + 32 * group + 8 * l);
            }
        }
    }

    static void iq2xs(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 32; i++) {
            int packed = Fields.u16(source, offset + 2 + 2 * i);
            row(
                    Grid.IQ2_XS,
                    packed & 511,
                    scale2(source, offset + 66, i, scale),
                    signs(packed >> 9),
                    target,
                    at + 8 * i);
        }
    }

    static void iq2s(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 32; i++) {
            int high = Fields.u8(source, offset + 66 + i / 4) >> 2 * (i % 4) & 3;
            int index = Fields.u8(source, offset + 2 + i) | high << 8;
            int signs = Fields.u8(source, offset + 34 + i);
            row(Grid.IQ2_S, index, scale2(source, offset + 74, i, scale), signs, target, at + 8 * i);
        }
    }

    private static float scale2(MemorySegment source, long scales, int i, float scale) {
        int nibble = Fields.u8(source, scales + i / 4) >> 4 * (i / 2 % 2) & 15;
        return scale * (0.5f + nibble) * 0.25f;
    }

    static void iq3xxs(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int group = 0; group < 8; group++) {
            int packed = Fields.i32(source, offset + 66 + 4 * group);
            float groupScale = scale * (0.5f + (packed >>> 28)) * 0.5f;
            for (int l = 0; l < 4; l++) {
                int signs = signs(packed >>> 7 * l & 127);
                long index = offset + 2 + 8 * group + 2 * l;
                int to = at + 32 * group + 8 * l;
                row(Grid.IQ3_XXS, Fields.u8(source, index), groupScale, signs, target, to);
                row(Grid.IQ3_XXS, Fields.u8(source, index + 1), groupScale, signs >> 4, target, to + 4);
            }
        }
    }

    static void iq3s(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int k = 0; k < 64; k++) {
            int nibble = Fields.u8(source, offset + 106 + k / 16) >> 4 * (k / 8 % 2) & 15;
            int high = Fields.u8(source, offset + 66 + k / 8) >> k % 8 & 1;
            int index = Fields.u8(source, offset + 2 + k) | high << 8;
            int signs = Fields.u8(source, offset + 74 + k / 2) >> 4 * (k % 2);
            row(Grid.IQ3_S, index, scale * (1 + 2 * nibble), signs, target, at + 4 * k);
        }
    }

    static void iq1s(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int group = 0; group < 8; group++) {
            int packed = Fields.u16(source, offset + 34 + 2 * group);
            float groupScale = scale * (2 * (packed >> 12 & 7) + 1);
            float delta = (packed & 0x8000) != 0 ? -DELTA : DELTA;
            for (int l = 0; l < 4; l++) {
                int index = Fields.u8(source, offset + 2 + 4 * group + l) | (packed >> 3 * l & 7) << 8;
                shifted(index, groupScale, delta, target, at + 32 * group + 8 * l);
            }
        }
    }

    static void iq1m(MemorySegment source, long offset, float[] target, int at) {
        int half = 0;
        for (int i = 0; i < 4; i++) {
            half |= Fields.u16(source, offset + 48 + 2 * i) >> 12 << 4 * i;
        }
        float scale = Float.float16ToFloat((short) half);
        for (int i = 0; i < 32; i++) {
            int step = Fields.u16(source, offset + 48 + 2 * (i / 8)) >> 3 * (i / 2 % 4) & 7;
            int nibble = Fields.u8(source, offset + 32 + i / 2) >> 4 * (i % 2) & 15;
            int index = Fields.u8(source, offset + i) | (nibble & 7) << 8;
            shifted(index, scale * (2 * step + 1), (nibble & 8) != 0 ? -DELTA : DELTA, target, at + 8 * i);
        }
    }

    private static void row(Grid grid, int index, float scale, int signs, float[] target, int at) {
        for (int j = 0; j < grid.width(); j++) {
            float value = scale * grid.value(index, j);
            target[at + j] = (signs >> j & 1) != 0 ? -value : value;
        }
    }

    private static void shifted(int index, float scale, float delta, float[] target, int at) {
        for (int j = 0; j < 8; j++) {
            target[at + j] = scale * (Grid.IQ1_S.value(index, j) + delta);
        }
    }
}
