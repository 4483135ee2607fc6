package dev.strata.server.http;

import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The streams of one event loop that have something to write. All that became ready together are written first and flushed then, so that the loop is woken once for
 * them, and neither the code that encodes nor the system's code that sends drives the other out of the processor's caches.
 */
final class PumpQueue {
    /** So many streams are written before the sockets get their turn again. */
    private static final int BATCH = 64;

    /** Looks without a stream until there are no more of them. */
    private static final int LAST_LOOKS = 8;

    private final EventLoop loop;
    private final int mostFresh;
    private final long period;
    /** Streams with pieces that the thread which brought them is going to send itself. */
    private final AtomicInteger fresh = new AtomicInteger();

    private final DirectSender sender = new DirectSender();
    private final Queue<EventPump> ready = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean awake = new AtomicBoolean();
    /** The event loop's own. */
    private final List<EventPump> written = new ArrayList<>();
    /** Streams that have not ended. */
    private final Set<EventPump> watched = ConcurrentHashMap.newKeySet();

    private final AtomicBoolean looking = new AtomicBoolean();
    /** The event loop's own. */
    private int emptyLooks;

    PumpQueue(EventLoop loop, Limits limits) {
        this.loop = loop;
        this.mostFresh = limits.directStreams();
        this.period = Math.min(limits.keepAlive().toNanos(), limits.slowReader().toNanos()) / 4;
    }

    /** From now on silence and slow readers of the stream are looked after, until {@link #unwatch}. */
    void watch(EventPump pump) {
        watched.add(pump);
        if (!looking.get() && looking.compareAndSet(false, true)) {
            lookLater();
        }
    }

    void unwatch(EventPump pump) {
        watched.remove(pump);
    }

    private void lookLater() {
        try {
            ScheduledFuture<?> _ = loop.schedule(this::look, period, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The server stops, and every stream with it.
        }
    }

    /** One timer for all streams, which goes on for a while without any: to start one wakes the event loop. */
    private void look() {
        watched.removeIf(EventPump::isDone);
        watched.forEach(EventPump::look);
        emptyLooks = watched.isEmpty() ? emptyLooks + 1 : 0;
        if (emptyLooks < LAST_LOOKS) {
            lookLater();
            return;
        }
        emptyLooks = 0;
        looking.set(false);
        if (!watched.isEmpty() && looking.compareAndSet(false, true)) {
            lookLater();
        }
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
