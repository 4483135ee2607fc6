package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Little-endian fields of blocks, at any address. */
final class Fields {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Fields() {}

    static int u8(MemorySegment source, long offset) {
        return source.get(ValueLayout.JAVA_BYTE, offset) & 0xff;
    }

    static int s8(MemorySegment source, long offset) {
        return source.get(ValueLayout.JAVA_BYTE, offset);
    }

    static int u16(MemorySegment source, long offset) {
        return source.get(SHORT, offset) & 0xffff;
    }

    static int i32(MemorySegment source, long offset) {
        return source.get(INT, offset);
    }

    static float f16(MemorySegment source, long offset) {
        return Float.float16ToFloat(source.get(SHORT, offset));
    }

    static void put8(MemorySegment target, long offset, int value) {
        target.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
    }

    static void put16(MemorySegment target, long offset, int value) {
        target.set(SHORT, offset, (short) value);
    }

    static void put32(MemorySegment target, long offset, int value) {
        target.set(INT, offset, value);
    }

    static void putF16(MemorySegment target, long offset, float value) {
        target.set(SHORT, offset, Float.floatToFloat16(value));
    }
}
