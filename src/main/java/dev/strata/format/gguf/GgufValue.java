package dev.strata.format.gguf;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A metadata value with the type it is written in: numbers as Long or Double, or a list of values of one {@code element} type. */
public record GgufValue(GgufValueType type, GgufValueType element, Object value) {
    public static GgufValue of(GgufValueType type, Object value) {
        return new GgufValue(type, type, value);
    }

    public static GgufValue uint32(long value) {
        return of(GgufValueType.UINT32, value);
    }

    public static GgufValue float32(double value) {
        return of(GgufValueType.FLOAT32, value);
    }

    public static GgufValue bool(boolean value) {
        return of(GgufValueType.BOOL, value);
    }

    public static GgufValue string(String value) {
        return of(GgufValueType.STRING, value);
    }

    public static GgufValue array(GgufValueType element, List<?> values) {
        return new GgufValue(GgufValueType.ARRAY, element, List.copyOf(values));
    }

    /**
     * The value in the narrowest common type: for numbers read from a file whose stored width is no longer known.
     *
     * @throws IllegalArgumentException for an empty or nested list, which carries no type, and for other classes
     */
    public static GgufValue infer(Object value) {
        if (value instanceof List<?> list) {
            if (list.isEmpty()) {
                throw new IllegalArgumentException("an empty list has no element type");
            }
            GgufValueType element = inferType(list.getFirst());
            for (Object each : list) {
                element = wider(element, inferType(each));
            }
            return array(element, list);
        }
        return of(inferType(value), value);
    }

    private static GgufValueType inferType(Object value) {
        return switch (value) {
            case Boolean ignored -> GgufValueType.BOOL;
            case String ignored -> GgufValueType.STRING;
            case Double number ->
                (double) number.floatValue() == number || number.isNaN()
                        ? GgufValueType.FLOAT32
                        : GgufValueType.FLOAT64;
            case Long number ->
                number >= 0 && number <= 0xffffffffL
                        ? GgufValueType.UINT32
                        : number < 0 && number >= Integer.MIN_VALUE ? GgufValueType.INT32 : GgufValueType.INT64;
            default -> throw new IllegalArgumentException("no GGUF type for " + value.getClass());
        };
    }

    private static GgufValueType wider(GgufValueType one, GgufValueType other) {
        if (one == other) {
            return one;
        }
        boolean floats = one == GgufValueType.FLOAT64 || other == GgufValueType.FLOAT64;
        return floats ? GgufValueType.FLOAT64 : GgufValueType.INT64;
    }

    /** The bytes of the value as they follow the key in a file: type, then contents. */
    byte[] encoded() {
        Bytes bytes = new Bytes();
        bytes.int32(type.id());
        if (type == GgufValueType.ARRAY) {
            List<?> list = (List<?>) value;
            bytes.int32(element.id());
            bytes.int64(list.size());
            list.forEach(each -> bytes.scalar(element, each));
        } else {
            bytes.scalar(type, value);
        }
        return bytes.toArray();
    }

    /** A growing little-endian buffer. */
    static final class Bytes {
        private final List<byte[]> parts = new ArrayList<>();
        private int length;

        void int32(int value) {
            add(ByteBuffer.allocate(4)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(value)
                    .array());
        }

        void int64(long value) {
            add(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(value)
                    .array());
        }

        void string(String value) {
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            int64(utf8.length);
            add(utf8);
        }

        void scalar(GgufValueType type, Object value) {
            switch (type) {
                case UINT8, INT8 -> add(new byte[] {number(value).byteValue()});
                case BOOL -> add(new byte[] {(byte) (Boolean.TRUE.equals(value) ? 1 : 0)});
                case UINT16, INT16 ->
                    add(ByteBuffer.allocate(2)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putShort(number(value).shortValue())
                            .array());
                case UINT32, INT32 -> int32(number(value).intValue());
                case UINT64, INT64 -> int64(number(value).longValue());
                case FLOAT32 -> int32(Float.floatToRawIntBits(number(value).floatValue()));
                case FLOAT64 -> int64(Double.doubleToRawLongBits(number(value).doubleValue()));
                case STRING -> string((String) value);
                case ARRAY -> throw new IllegalArgumentException("arrays of arrays are not written");
            }
        }

        private static Number number(Object value) {
            return (Number) value;
        }

        void add(byte[] part) {
            parts.add(part);
            length += part.length;
        }

        byte[] toArray() {
            byte[] all = new byte[length];
            int at = 0;
            for (byte[] part : parts) {
                System.arraycopy(part, 0, all, at, part.length);
                at += part.length;
            }
            return all;
        }
    }
}
