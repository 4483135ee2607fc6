package dev.strata.server.http;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sends events of streams on the thread that brings them, from memory that all streams share and that so stays in the processor's caches. A second thread finds
 * it taken and leaves its events to the event loop.
 */
final class DirectSender {
    /** More bytes than these in one step of a stream are for the event loop. */
    static final int MOST = 16 << 10;

    private final AtomicBoolean taken = new AtomicBoolean();
    private final byte[] events = new byte[MOST + PendingBytes.FRAME];
    private final ByteBuffer memory =
            ByteBuffer.allocateDirect(MOST + PendingBytes.FRAME + PendingBytes.LAST_CHUNK.length);
    private final long address = MemorySegment.ofBuffer(memory).address();
    private final AtomicLong sends = new AtomicLong();

    /** Whether the calling thread may use it now, until {@link #release}. */
    boolean take() {
        return taken.compareAndSet(false, true);
    }

    void release() {
        taken.set(false);
    }

    /** For events that are collected to be sent. */
    byte[] memory() {
        return events;
    }

    /** So many chunks went out whole. */
    long sends() {
        return sends.get();
    }

    /**
     * Sends what is left from before and what waits, as a chunk of HTTP/1.1.
     *
     * @param last whether the answer ends with it
     * @return false when bytes are left that the event loop has to send, in {@code left} or still waiting
     */
    boolean send(DirectSocket socket, LeftBytes left, PendingBytes waiting, boolean last) {
        if (!fits(left, waiting)) {
            return false;
        }
        int length = gather(left, waiting, last);
        int sent = sent(socket, length);
        if (sent < length) {
            left.keep(memory, sent, length);
            return false;
        }
        // Only the thread that took this counts.
        sends.lazySet(sends.getPlain() + 1);
        return true;
    }

    /** Whether so much can be sent at once. */
    static boolean fits(LeftBytes left, PendingBytes waiting) {
        return left.size() + waiting.size() <= MOST;
    }

    /** Puts all that is to be sent into the memory; returns how much it is. */
    private int gather(LeftBytes left, PendingBytes waiting, boolean last) {
        int length = 0;
        byte[] first = left.take();
        if (first != null) {
            memory.put(0, first);
            length = first.length;
        }
        if (waiting.size() > 0) {
            length += waiting.moveAsChunk(memory, length);
        }
        if (last) {
            memory.put(length, PendingBytes.LAST_CHUNK);
            length += PendingBytes.LAST_CHUNK.length;
        }
        return length;
    }

    private int sent(DirectSocket socket, int length) {
        try {
            return socket.send(address, 0, length);
        } catch (IOException e) {
            // The event loop will find the same and knows what to do.
            return 0;
        }
    }
}
