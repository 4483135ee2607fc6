package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends events of streams on the thread that brings them, from memory that all streams share and that so stays in the processor's caches. A second thread finds
 * it taken and leaves its events to the event loop.
 */
final class DirectSender {
    /** More bytes than these in one step of a stream are for the event loop. */
    static final int MOST = 16 << 10;

    private final ReentrantLock lock = new ReentrantLock();
    private final byte[] events = new byte[MOST];
    private final ByteBuffer memory = ByteBuffer.allocateDirect(MOST + PendingBytes.FRAME);
    private final ByteBuf chunk = Unpooled.wrappedBuffer(memory);
    private final long address = MemorySegment.ofBuffer(memory).address();
    private long sends;

    /** Whether the calling thread may use it now, until {@link #release}. */
    boolean take() {
        return lock.tryLock();
    }

    void release() {
        lock.unlock();
    }

    /** For events that are collected to be sent. */
    byte[] memory() {
        return events;
    }

    /** So many chunks went out whole. */
    long sends() {
        lock.lock();
        try {
            return sends;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Sends what waits as a chunk of HTTP/1.1.
     *
     * @return false when bytes are left that the event loop has to send, in {@code left} or still waiting
     */
    boolean send(DirectSocket socket, PendingBytes waiting, LeftBytes left) {
        if (waiting.size() > MOST) {
            return false;
        }
        waiting.moveAsChunk(chunk.clear());
        int sent = sent(socket);
        if (sent < chunk.writerIndex()) {
            left.keep(chunk, sent);
            return false;
        }
        sends++;
        return true;
    }

    private int sent(DirectSocket socket) {
        try {
            return socket.send(address, 0, chunk.writerIndex());
        } catch (IOException e) {
            // The event loop will find the same and knows what to do.
            return 0;
        }
    }
}
