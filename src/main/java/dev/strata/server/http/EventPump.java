package dev.strata.server.http;

import dev.strata.server.http.GenerationCall.Piece;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the pieces of a streamed answer to the socket on the connection's event loop, so that a token crosses from thread to thread only once. The request's
 * virtual thread waits beside it and looks after silence and slow readers.
 */
final class EventPump {
    /** Pieces that wait together go out in writes of about this size. */
    private static final int MOST_PENDING = 32 << 10;

    private final Exchange exchange;
    private final Channel channel;
    private final GenerationCall call;
    private final EventStream events;
    private final EventWriter writer;
    private final Consumer<Piece> counter;
    private final PumpQueue queue;
    private final AtomicBoolean scheduled = new AtomicBoolean();
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile @Nullable Throwable failure;
    private volatile long lastWrite = System.nanoTime();
    /** Since when the socket has been full; 0: it is not. */
    private volatile long fullSince;

    /** @param queue that of the channel's event loop */
    EventPump(
            Exchange exchange,
            GenerationCall call,
            EventStream events,
            EventWriter writer,
            Consumer<Piece> counter,
            PumpQueue queue) {
        this.exchange = exchange;
        this.channel = exchange.channel();
        this.call = call;
        this.events = events;
        this.writer = writer;
        this.counter = counter;
        this.queue = queue;
    }

    /**
     * Runs until the last event has been written.
     *
     * @throws ClientGoneException when the client left or did not read
     */
    void run() {
        begin();
        Duration keepAlive = exchange.limits().keepAlive();
        Duration slowReader = exchange.limits().slowReader();
        long pause = Math.min(keepAlive.toNanos(), slowReader.toNanos());
        try {
            while (!done.await(pause, TimeUnit.NANOSECONDS)) {
                long now = System.nanoTime();
                long full = fullSince;
                if (full != 0 && now - full >= slowReader.toNanos()) {
                    exchange.abort();
                    throw new ClientGoneException(
                            "The client did not read its stream for " + slowReader.toSeconds() + " s");
                }
                if (full == 0 && now - lastWrite >= keepAlive.toNanos()) {
                    channel.eventLoop().execute(this::keepAlive);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ClientGoneException("Interrupted");
        }
        switch (failure) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    /** The head of the answer may still wait for the event loop: nothing must be written before it has been. */
    private void begin() {
        try {
            channel.eventLoop().execute(() -> {
                call.onArrival(this::schedule, queue::wake);
                exchange.onWritable(this::scheduleNow);
                scheduleNow();
            });
        } catch (RejectedExecutionException e) {
            fail(PumpQueue.stopped());
        }
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true)) {
            queue.add(this);
        }
    }

    private void scheduleNow() {
        schedule();
        queue.wake();
    }

    /** Ends the stream: it cannot be written. */
    void fail(Throwable cause) {
        failure = cause;
        done.countDown();
    }

    private void keepAlive() {
        if (done.getCount() > 0 && channel.isWritable()) {
            writer.keepAlive();
            events.flush();
            lastWrite = System.nanoTime();
        }
    }

    /** Writes what there is, on the event loop; {@link #flush} follows. */
    void write() {
        scheduled.set(false);
        if (done.getCount() == 0) {
            return;
        }
        try {
            Piece piece;
            while (hasRoom() && !writer.isDone() && (piece = call.poll()) != null) {
                counter.accept(piece);
                writer.write(piece);
                if (events.pendingBytes() > MOST_PENDING) {
                    events.flush();
                }
            }
            if (writer.isDone()) {
                writer.end();
                events.end();
                done.countDown();
            } else {
                events.write();
            }
        } catch (RuntimeException | Error e) {
            fail(e);
        }
    }

    /** Sends what was written. */
    void flush() {
        lastWrite = System.nanoTime();
        if (done.getCount() > 0) {
            channel.flush();
        }
    }

    private boolean hasRoom() {
        if (channel.isWritable() || !channel.isActive()) {
            fullSince = 0;
            return true;
        }
        if (fullSince == 0) {
            fullSince = System.nanoTime();
        }
        return false;
    }
}
