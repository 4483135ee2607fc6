package dev.strata.format.gguf;

import dev.strata.format.MappedFile;
import dev.strata.format.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads little-endian fields one after another and checks each against the bytes that are left, so that no length in a damaged file
 * leads to a large allocation. Errors name the file, what was being read and its offset.
 */
final class GgufCursor {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfDouble DOUBLE =
            ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MappedFile file;
    private final MemorySegment bytes;
    private long position;

    GgufCursor(MappedFile file) {
        this.file = file;
        this.bytes = file.bytes();
    }

    long position() {
        return position;
    }

    long remaining() {
        return bytes.byteSize() - position;
    }

    byte int8(String what) {
        return bytes.get(ValueLayout.JAVA_BYTE, take(1, what));
    }

    short int16(String what) {
        return bytes.get(SHORT, take(2, what));
    }

    int int32(String what) {
        return bytes.get(INT, take(4, what));
    }

    long int64(String what) {
        return bytes.get(LONG, take(8, what));
    }

    float float32(String what) {
        return bytes.get(FLOAT, take(4, what));
    }

    double float64(String what) {
        return bytes.get(DOUBLE, take(8, what));
    }

    /** A count of things that take at least {@code leastBytes} each; more than can follow in the file is an error. */
    long count(String what, long leastBytes) {
        long at = position;
        long count = int64(what);
        if (count < 0 || count > remaining() / leastBytes) {
            throw error(what + " " + Long.toUnsignedString(count) + " at offset " + at + " does not fit into the "
                    + remaining() + " bytes that follow; the file is damaged or truncated");
        }
        return count;
    }

    /** A string whose bytes must be valid UTF-8: names and keys. */
    String name(String what) {
        long at = position;
        byte[] raw = stringBytes(what);
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(raw))
                    .toString();
        } catch (CharacterCodingException exception) {
            throw error(what + " at offset " + at + " is not valid UTF-8: " + escaped(raw));
        }
    }

    /** A string value; malformed bytes become U+FFFD. */
    String text(String what) {
        return new String(stringBytes(what), StandardCharsets.UTF_8);
    }

    ModelFormatException error(String message) {
        return new ModelFormatException(file.path() + ": " + message);
    }

    private byte[] stringBytes(String what) {
        long at = position;
        long length = int64(what);
        if (length < 0 || length > remaining() || length > Integer.MAX_VALUE - 16) {
            throw error("string length " + Long.toUnsignedString(length) + " of " + what + " at offset " + at
                    + " does not fit into the " + remaining()
                    + " bytes that follow; the file is damaged or truncated");
        }
        byte[] raw = new byte[(int) length];
        MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, position, raw, 0, raw.length);
        position += length;
        return raw;
    }

    private long take(int size, String what) {
        if (size > remaining()) {
            throw error(
                    "the file ends after " + bytes.byteSize() + " bytes, inside " + what + " at offset " + position);
        }
        long at = position;
        position += size;
        return at;
    }

    private static String escaped(byte[] raw) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(raw.length, 64); i++) {
            int value = raw[i] & 0xff;
            if (value >= 0x20 && value < 0x7f) {
                text.append((char) value);
            } else {
                text.append(String.format("\\x%02x", value));
            }
        }
        return text.toString();
    }
}
