package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Types whose block is one number. */
final class PlainTypes {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfDouble DOUBLE =
            ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private PlainTypes() {}

    static void f32(MemorySegment source, long offset, float[] target, int at) {
        target[at] = source.get(FLOAT, offset);
    }

    static void f64(MemorySegment source, long offset, float[] target, int at) {
        target[at] = (float) source.get(DOUBLE, offset);
    }

    static void f16(MemorySegment source, long offset, float[] target, int at) {
        target[at] = Fields.f16(source, offset);
    }

    static void bf16(MemorySegment source, long offset, float[] target, int at) {
        target[at] = Float.intBitsToFloat(Fields.u16(source, offset) << 16);
    }

    static void i8(MemorySegment source, long offset, float[] target, int at) {
        target[at] = Fields.s8(source, offset);
    }

    static void i16(MemorySegment source, long offset, float[] target, int at) {
        target[at] = (short) Fields.u16(source, offset);
    }

    static void i32(MemorySegment source, long offset, float[] target, int at) {
        target[at] = Fields.i32(source, offset);
    }

    static void i64(MemorySegment source, long offset, float[] target, int at) {
        target[at] = source.get(LONG, offset);
    }

    static void putF32(float[] source, int at, MemorySegment target, long offset) {
        target.set(FLOAT, offset, source[at]);
    }

    static void putF16(float[] source, int at, MemorySegment target, long offset) {
        Fields.putF16(target, offset, source[at]);
    }

    static void putBf16(float[] source, int at, MemorySegment target, long offset) {
        Fields.put16(target, offset, bf16Bits(source[at]));
    }

    /** The nearest bfloat16, ties to even; a NaN stays one. */
    static int bf16Bits(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return bits >>> 16 | 0x40;
        }
        return bits + 0x7fff + (bits >>> 16 & 1) >>> 16;
    }
}
