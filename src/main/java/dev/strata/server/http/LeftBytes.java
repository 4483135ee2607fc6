package dev.strata.server.http;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** What a socket did not take of a chunk. Used by one thread at a time. */
final class LeftBytes {
    private byte @Nullable [] bytes;

    /** Keeps what was put into the buffer, but for its first {@code sent} bytes. */
    void keep(ByteBuffer chunk, int sent) {
        byte[] rest = new byte[chunk.position() - sent];
        chunk.get(sent, rest);
        bytes = rest;
    }

    boolean isEmpty() {
        return bytes == null;
    }

    /** Null when nothing is left; nothing is afterwards. */
    byte @Nullable [] take() {
        byte[] taken = bytes;
        bytes = null;
        return taken;
    }
}
