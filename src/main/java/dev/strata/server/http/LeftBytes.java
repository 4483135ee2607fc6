package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import org.jspecify.annotations.Nullable;

/** What a socket did not take of a chunk. Used by one thread at a time. */
final class LeftBytes {
    private byte @Nullable [] bytes;

    /** Keeps what was put into the buffer, but for its first {@code sent} bytes. */
    void keep(ByteBuf chunk, int sent) {
        bytes = ByteBufUtil.getBytes(chunk, sent, chunk.writerIndex() - sent);
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
