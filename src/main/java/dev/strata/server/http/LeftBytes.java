package dev.strata.server.http;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** What has to be sent before any chunk, as it is: an answer's head, or what a socket did not take of a chunk. Used by one thread at a time. */
final class LeftBytes {
    private byte @Nullable [] bytes;

    /** Keeps a copy of the memory's bytes from one offset to the other. */
    void keep(ByteBuffer memory, int from, int to) {
        byte[] kept = new byte[to - from];
        memory.get(from, kept);
        bytes = kept;
    }

    /** Keeps these bytes. */
    void keep(byte[] first) {
        bytes = first;
    }

    int size() {
        byte[] kept = bytes;
        return kept == null ? 0 : kept.length;
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
