package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Ternary super-blocks of 256 elements: TQ1_0 (five base-3 digits a byte) and TQ2_0 (two bits each). */
final class TernaryDecoders {
    private static final int[] POWERS = {1, 3, 9, 27, 81};

    private TernaryDecoders() {}

    static void tq1(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset + 52);
        int to = digits(source, offset, 32, 5, scale, target, at);
        to = digits(source, offset + 32, 16, 5, scale, target, to);
        digits(source, offset + 48, 4, 4, scale, target, to);
    }

    private static int digits(
            MemorySegment source, long offset, int bytes, int digits, float scale, float[] target, int at) {
        int to = at;
        for (int n = 0; n < digits; n++) {
            for (int i = 0; i < bytes; i++) {
                int shifted = Fields.u8(source, offset + i) * POWERS[n] & 255;
                target[to++] = ((shifted * 3 >> 8) - 1) * scale;
            }
        }
        return to;
    }

    static void tq2(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset + 64);
        for (int e = 0; e < 256; e++) {
            int value = Fields.u8(source, offset + 32 * (e / 128) + e % 32) >> 2 * (e % 128 / 32) & 3;
            target[at + e] = (value - 1) * scale;
        }
    }
}
