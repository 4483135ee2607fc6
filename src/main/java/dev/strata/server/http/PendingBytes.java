package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** Bytes of events that wait to be written. Used by one thread at a time. */
final class PendingBytes {
    /** Most bytes of a chunk's frame: eight digits and two line ends. */
    static final int FRAME = 12;

    /** Most bytes of JSON for one unit of a text: a backslash, u and four digits. */
    private static final int MOST_OF_A_UNIT = 6;

    /** Of an int. */
    private static final int MOST_DIGITS = 10;

    private static final String DIGITS = "0123456789ABCDEF";
    private static final String SHORT = "\"\\\b\t\n\f\r";
    private static final String SHORT_NAMES = "\"\\btnfr";
    private static final int LINE_END = '\r' << 8 | '\n';

    private byte[] bytes = new byte[512];
    /** What {@link #bytes} was before it was borrowed. */
    private byte[] own = bytes;

    private int size;

    /** Collects in this memory until {@link #giveBack}. Nothing must wait yet. */
    void borrow(byte[] memory) {
        own = bytes;
        bytes = memory;
    }

    /** Collects in memory of its own again; what waits comes along. */
    void giveBack() {
        bytes = size == 0 ? own : Arrays.copyOf(bytes, Math.max(size, own.length));
    }

    int size() {
        return size;
    }

    void add(byte[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, bytes, size, more.length);
        size += more.length;
    }

    /** Adds the text as JSON, in quotes, as {@link Json#bytes} writes it. */
    void addJson(String text) {
        int length = text.length();
        reserve(MOST_OF_A_UNIT * length + 2);
        int at = size;
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
        size = at;
    }

    /** Adds a number, which is not negative, in decimal. */
    void addNumber(int number) {
        reserve(MOST_DIGITS);
        int digits = 1;
        for (int rest = number; rest >= 10; rest /= 10) {
            digits++;
        }
        int rest = number;
        for (int at = size + digits - 1; at >= size; at--) {
            bytes[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        size += digits;
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
        byte[] taken = Arrays.copyOf(bytes, size);
        size = 0;
        return taken;
    }

    /** Writes what waited, which is something, as a chunk of HTTP/1.1 with its frame; nothing waits afterwards. */
    void moveAsChunk(ByteBuf out) {
        for (int shift = (31 - Integer.numberOfLeadingZeros(size)) / 4 * 4; shift >= 0; shift -= 4) {
            out.writeByte(Character.forDigit(size >>> shift & 15, 16));
        }
        out.writeShort(LINE_END).writeBytes(bytes, 0, size).writeShort(LINE_END);
        size = 0;
    }

    private void reserve(int more) {
        if (size + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(size + more, 2 * bytes.length));
        }
    }
}
