package dev.strata.server.http;

import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The streams of one event loop that have something to write. All that became ready together are written first and flushed then, so that the loop is woken once for
 * them, and neither the code that encodes nor the system's code that sends drives the other out of the processor's caches.
 */
final class PumpQueue {
    /** So many streams are written before the sockets get their turn again. */
    private static final int BATCH = 64;

    private final EventLoop loop;
    private final Queue<EventPump> ready = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean awake = new AtomicBoolean();
    /** The event loop's own. */
    private final List<EventPump> written = new ArrayList<>();

    PumpQueue(EventLoop loop) {
        this.loop = loop;
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
        for (EventPump pump = ready.poll(); pump != null; pump = ready.poll()) {
            pump.write();
            written.add(pump);
            if (written.size() == BATCH) {
                break;
            }
        }
        written.forEach(EventPump::flush);
        written.clear();
        wake();
    }
}
