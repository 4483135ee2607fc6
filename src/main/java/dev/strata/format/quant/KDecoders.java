package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Super-blocks of 256 elements with scales of their own for each 16 or 32: Q2_K to Q6_K. */
final class KDecoders {
    private KDecoders() {}

    static void q2(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset + 80);
        float minimumScale = Fields.f16(source, offset + 82);
        for (int e = 0; e < 256; e++) {
            int packed = Fields.u8(source, offset + e / 16);
            int value = Fields.u8(source, offset + 16 + 32 * (e / 128) + e % 32) >> 2 * (e % 128 / 32) & 3;
            target[at + e] = scale * (packed & 15) * value - minimumScale * (packed >> 4);
        }
    }

    static void q3(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset + 108);
        for (int e = 0; e < 256; e++) {
            int low = Fields.u8(source, offset + 32 + 32 * (e / 128) + e % 32) >> 2 * (e % 128 / 32) & 3;
            int high = Fields.u8(source, offset + e % 32) >> e / 32 & 1;
            float groupScale = scale * (q3Scale(source, offset + 96, e / 16) - 32);
            target[at + e] = groupScale * (low - (high != 0 ? 0 : 4));
        }
    }

    /** Six-bit scale of group g of 16: low nibbles in eight bytes, high pairs of bits in the four that follow. */
    static int q3Scale(MemorySegment source, long offset, int group) {
        return Fields.u8(source, offset + group % 8) >> 4 * (group / 8) & 15
                | (Fields.u8(source, offset + 8 + group % 4) >> 2 * (group / 4) & 3) << 4;
    }

    static void q4(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        float minimumScale = Fields.f16(source, offset + 2);
        for (int group = 0; group < 8; group++) {
            float groupScale = scale * scaleOf(source, offset + 4, group);
            float minimum = minimumScale * minimumOf(source, offset + 4, group);
            long quants = offset + 16 + 32 * (group / 2);
            int shift = 4 * (group % 2);
            for (int i = 0; i < 32; i++) {
                int value = Fields.u8(source, quants + i) >> shift & 15;
                target[at + 32 * group + i] = groupScale * value - minimum;
            }
        }
    }

    static void q5(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        float minimumScale = Fields.f16(source, offset + 2);
        for (int group = 0; group < 8; group++) {
            float groupScale = scale * scaleOf(source, offset + 4, group);
            float minimum = minimumScale * minimumOf(source, offset + 4, group);
            long quants = offset + 48 + 32 * (group / 2);
            int shift = 4 * (group % 2);
            for (int i = 0; i < 32; i++) {
                int high = Fields.u8(source, offset + 16 + i) >> group & 1;
                int value = Fields.u8(source, quants + i) >> shift & 15 | high << 4;
                target[at + 32 * group + i] = groupScale * value - minimum;
            }
        }
    }

    static void q6(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset + 208);
        for (int e = 0; e < 256; e++) {
            int half = e / 128;
            int r = e % 128;
            int low = Fields.u8(source, offset + 64 * half + r % 64) >> 4 * (r / 64) & 15;
            int high = Fields.u8(source, offset + 128 + 32 * half + r % 32) >> 2 * (r / 32) & 3;
            target[at + e] = scale * Fields.s8(source, offset + 192 + e / 16) * ((low | high << 4) - 32);
        }
    }

    /** Six-bit scale of a group of 32 in the twelve packed bytes of Q4_K and Q5_K. */
    static int scaleOf(MemorySegment source, long offset, int group) {
        return group < 4
                ? Fields.u8(source, offset + group) & 63
                : Fields.u8(source, offset + group + 4) & 15 | Fields.u8(source, offset + group - 4) >> 6 << 4;
    }

    /** Six-bit minimum of a group of 32 in the twelve packed bytes of Q4_K and Q5_K. */
    static int minimumOf(MemorySegment source, long offset, int group) {
        return group < 4
                ? Fields.u8(source, offset + group + 4) & 63
                : Fields.u8(source, offset + group + 4) >> 4 | Fields.u8(source, offset + group) >> 6 << 4;
    }
}
