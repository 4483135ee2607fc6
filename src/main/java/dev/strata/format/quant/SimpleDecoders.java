package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Blocks of 32 to 128 elements with one scale, or a scale and a minimum: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q1_0, Q2_0. */
final class SimpleDecoders {
    private SimpleDecoders() {}

    static void q8Zero(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 32; i++) {
            target[at + i] = Fields.s8(source, offset + 2 + i) * scale;
        }
    }

    static void q4Zero(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + 2 + i);
            target[at + i] = ((pair & 15) - 8) * scale;
            target[at + 16 + i] = ((pair >> 4) - 8) * scale;
        }
    }

    static void q4One(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        float minimum = Fields.f16(source, offset + 2);
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + 4 + i);
            target[at + i] = (pair & 15) * scale + minimum;
            target[at + 16 + i] = (pair >> 4) * scale + minimum;
        }
    }

    static void q5Zero(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        int high = Fields.i32(source, offset + 2);
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + 6 + i);
            target[at + i] = ((pair & 15 | (high >> i & 1) << 4) - 16) * scale;
            target[at + 16 + i] = ((pair >> 4 | (high >> i + 16 & 1) << 4) - 16) * scale;
        }
    }

    static void q5One(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        float minimum = Fields.f16(source, offset + 2);
        int high = Fields.i32(source, offset + 4);
        for (int i = 0; i < 16; i++) {
            int pair = Fields.u8(source, offset + 8 + i);
            target[at + i] = (pair & 15 | (high >> i & 1) << 4) * scale + minimum;
            target[at + 16 + i] = (pair >> 4 | (high >> i + 16 & 1) << 4) * scale + minimum;
        }
    }

    static void q1Zero(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 128; i++) {
            target[at + i] = (Fields.u8(source, offset + 2 + i / 8) >> i % 8 & 1) != 0 ? scale : -scale;
        }
    }

    static void q2Zero(MemorySegment source, long offset, float[] target, int at) {
        float scale = Fields.f16(source, offset);
        for (int i = 0; i < 64; i++) {
            target[at + i] = ((Fields.u8(source, offset + 2 + i / 4) >> 2 * (i % 4) & 3) - 1) * scale;
        }
    }
}
