package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Four-bit indices into sixteen uneven levels: IQ4_NL and IQ4_XS. */
final class NonLinearDecoders {
    private static final byte[] LEVELS = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

    private NonLinearDecoders() {}

    static void iq4nl(MemorySegment source, long offset, float[] target, int at) {
        levels(source, offset + 2, Fields.f16(source, offset), target, at);
    }

    static void iq4xs(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        int high = Fields.u16(source, offset + 2);
        for (int group = 0; group < 8; group++) {
            int low = Fields.u8(source, offset + 4 + group / 2) >> 4 * (group % 2) & 15;
            int step = (low | (high >> 2 * group & 3) << 4) - 32;
            levels(source, offset + 8 + 16 * group, scale * step, target, at + 32 * group);
        }
    }

    private static void levels(MemorySegment source, long offset, float scale, float[] target, int at) {
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + i);
            target[at + i] = scale * LEVELS[pair & 15];
            target[at + 16 + i] = scale * LEVELS[pair >> 4];
        }
    }
}
