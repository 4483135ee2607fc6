package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** Bytes of events that wait to be written. Used by one thread at a time. */
final class PendingBytes {
    /** Most bytes of a chunk's frame: eight digits and two line ends. */
    static final int FRAME = 12;

    private static final int LINE_END = '\r' << 8 | '\n';

    private byte[] bytes = new byte[512];
    private int size;

    int size() {
        return size;
    }

    void add(byte[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, bytes, size, more.length);
        size += more.length;
    }

    /** Adds the text in quotes if JSON writes each of its characters as it is, in one byte; otherwise adds nothing and returns false. */
    boolean addPlain(String text) {
        int length = text.length();
        reserve(length + 2);
        int at = size;
        bytes[at++] = '"';
        for (int i = 0; i < length; i++) {
            char unit = text.charAt(i);
            if (unit < 0x20 || unit > 0x7e || unit == '"' || unit == '\\') {
                return false;
            }
            bytes[at++] = (byte) unit;
        }
        bytes[at++] = '"';
        size = at;
        return true;
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
