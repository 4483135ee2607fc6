package dev.strata.server.http;

import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The streams of one event loop that have something to write. All that became ready together are written first and flushed then, so that the loop is woken once for
 * them, and neither the code that encodes nor the system's code that sends drives the other out of the processor's caches.
 */
final class PumpQueue {
    /** So many streams are written before the sockets get their turn again. */
    private static final int BATCH = 64;

    private final EventLoop loop;
    private final int mostFresh;
    /** Streams with pieces that the thread which brought them is going to send itself. */
    private final AtomicInteger fresh = new AtomicInteger();

    private final DirectSender sender = new DirectSender();
    private final Queue<EventPump> ready = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean awake = new AtomicBoolean();
    /** The event loop's own. */
    private final List<EventPump> written = new ArrayList<>();

    /** @param mostFresh streams of a pass that are sent by the thread which makes the pieces; the others are for the event loop */
    PumpQueue(EventLoop loop, int mostFresh) {
        this.loop = loop;
        this.mostFresh = mostFresh;
    }

    /** For what is sent on the event loop. */
    DirectSender sender() {
        return sender;
    }

    /** Whether a stream may be sent by the thread that brings its pieces; then {@link #leave} follows. */
    boolean enter() {
        if (fresh.incrementAndGet() <= mostFresh) {
            return true;
        }
        leave();
        return false;
    }

    void leave() {
        fresh.decrementAndGet();
    }

    /** Has the stream written on the event loop, after {@link #wake}. */
    void add(EventPump pump) {
        ready.add(pump);
    }

    /** Has all streams written that were added. */
    void wake() {
        if (ready.isEmpty() || !awake.compareAndSet(false, true)) {
            return;
        }
        try {
            loop.execute(this::drain);
        } catch (RejectedExecutionException e) {
            awake.set(false);
            for (EventPump pump = ready.poll(); pump != null; pump = ready.poll()) {
                pump.fail(stopped());
            }
        }
    }

    static ClientGoneException stopped() {
        return new ClientGoneException("The server has stopped");
    }

    private void drain() {
        awake.set(false);
        int turns = BATCH;
        for (EventPump pump = ready.poll(); pump != null; pump = ready.poll()) {
            if (pump.write()) {
                written.add(pump);
            }
            if (--turns == 0) {
                break;
            }
        }
        written.forEach(EventPump::flush);
        written.clear();
        wake();
    }
}
