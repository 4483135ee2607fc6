package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Bytes of events that wait to be written, with room for the frame of a chunk around them. Used by one thread at a time. */
final class PendingBytes {
    /** Most bytes of a chunk's frame before its content: eight digits and a line end. */
    private static final int BEFORE = 10;
    /** The line end behind it. */
    private static final int AFTER = 2;
    /** Most bytes of a chunk's frame. */
    static final int FRAME = BEFORE + AFTER;
    /** What a body in chunks ends with. */
    static final byte[] LAST_CHUNK = {'0', '\r', '\n', '\r', '\n'};

    /** Most bytes of JSON for one unit of a text: a backslash, u and four digits. */
    private static final int MOST_OF_A_UNIT = 6;

    /** Of an int. */
    private static final int MOST_DIGITS = 10;

    private static final String DIGITS = "0123456789ABCDEF";
    private static final String CHUNK_DIGITS = "0123456789abcdef";
    private static final String SHORT = "\"\\\b\t\n\f\r";
    private static final String SHORT_NAMES = "\"\\btnfr";

    private byte[] bytes = new byte[512];
    /** What {@link #bytes} was before it was borrowed. */
    private byte[] own = bytes;
    /** Behind what waits. */
    private int end = BEFORE;

    /** Collects in this memory, which is larger than a frame, until {@link #giveBack}. Nothing must wait yet. */
    void borrow(byte[] memory) {
        own = bytes;
        bytes = memory;
    }

    /** Collects in memory of its own again; what waits comes along. */
    void giveBack() {
        bytes = end == BEFORE ? own : Arrays.copyOf(bytes, Math.max(end + AFTER, own.length));
    }

    int size() {
        return end - BEFORE;
    }

    void add(byte[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, bytes, end, more.length);
        end += more.length;
    }

    /** Adds the text as JSON, in quotes, as {@link Json#bytes} writes it. */
    void addJson(String text) {
        int length = text.length();
        reserve(MOST_OF_A_UNIT * length + 2);
        int at = end;
        bytes[at++] = '"';
        for (int i = 0; i < length; i++) {
            char unit = text.charAt(i);
            if (unit >= 0x20 && unit < 0x80 && unit != '"' && unit != '\\') {
                bytes[at++] = (byte) unit;
            } else if (unit < 0x80) {
                at = escape(unit, at);
            } else if (unit < 0x800) {
                bytes[at++] = (byte) (0xc0 | unit >> 6);
                bytes[at++] = (byte) (0x80 | unit & 0x3f);
            } else if (Character.isSurrogate(unit)) {
                boolean pair = WellFormed.pair(text, i);
                at = pair ? digits(text.charAt(++i), digits(unit, at)) : threeBytes(WellFormed.REPLACEMENT, at);
            } else {
                at = threeBytes(unit, at);
            }
        }
        bytes[at++] = '"';
        end = at;
    }

    /** Adds a number, which is not negative, in decimal. */
    void addNumber(int number) {
        reserve(MOST_DIGITS);
        int digits = 1;
        for (int rest = number; rest >= 10; rest /= 10) {
            digits++;
        }
        int rest = number;
        for (int at = end + digits - 1; at >= end; at--) {
            bytes[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        end += digits;
    }

    private int escape(char unit, int at) {
        int known = SHORT.indexOf(unit);
        if (known < 0) {
            return digits(unit, at);
        }
        bytes[at] = '\\';
        bytes[at + 1] = (byte) SHORT_NAMES.charAt(known);
        return at + 2;
    }

    private int digits(char unit, int at) {
        bytes[at] = '\\';
        bytes[at + 1] = 'u';
        for (int i = 0; i < 4; i++) {
            bytes[at + 2 + i] = (byte) DIGITS.charAt(unit >> 12 - 4 * i & 15);
        }
        return at + 6;
    }

    private int threeBytes(char unit, int at) {
        bytes[at] = (byte) (0xe0 | unit >> 12);
        bytes[at + 1] = (byte) (0x80 | unit >> 6 & 0x3f);
        bytes[at + 2] = (byte) (0x80 | unit & 0x3f);
        return at + 3;
    }

    /** What waited; nothing waits afterwards. */
    byte[] take() {
        byte[] taken = Arrays.copyOfRange(bytes, BEFORE, end);
        end = BEFORE;
        return taken;
    }

    /** Writes what waited, which is something, as a chunk of HTTP/1.1 with its frame; nothing waits afterwards. */
    void moveAsChunk(ByteBuf out) {
        int start = frame();
        out.writeBytes(bytes, start, end + AFTER - start);
        end = BEFORE;
    }

    /**
     * The same into memory that does not move.
     *
     * @param at where the chunk begins there
     * @return bytes of the chunk
     */
    int moveAsChunk(ByteBuffer memory, int at) {
        int start = frame();
        int length = end + AFTER - start;
        memory.put(at, bytes, start, length);
        end = BEFORE;
        return length;
    }

    /** Puts the frame around what waits; returns where the chunk begins. */
    private int frame() {
        bytes[end] = '\r';
        bytes[end + 1] = '\n';
        int at = BEFORE;
        bytes[--at] = '\n';
        bytes[--at] = '\r';
        for (int rest = size(); rest > 0; rest >>>= 4) {
            bytes[--at] = (byte) CHUNK_DIGITS.charAt(rest & 15);
        }
        return at;
    }

    private void reserve(int more) {
        if (end + more + AFTER > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(end + more + AFTER, 2 * bytes.length));
        }
    }
}
