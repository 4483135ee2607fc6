package dev.strata.server.http;

import dev.strata.server.http.GenerationCall.Piece;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the pieces of a streamed answer to the socket. In the steady state the thread that brings them sends them itself and wakes nobody; the request's
 * virtual thread sends the head and waits for the end, which it sends, too. Whatever is unusual (the first stream of a connection, a full socket, silence, slow
 * readers) is done on the connection's event loop, and so is everything where there is no other way to the socket.
 */
final class EventPump implements GenerationCall.Taker {
    /** Pieces that wait together go out in writes of about this size. */
    private static final int MOST_PENDING = 32 << 10;

    private final Exchange exchange;
    private final Channel channel;
    private final GenerationCall call;
    private final EventStream events;
    private final EventWriter writer;
    private final Consumer<Piece> counter;
    private final PumpQueue queue;
    private final DirectSender sender;
    private final DirectSender edges;
    /** Who may take pieces and write them. */
    private final Turn turn = new Turn();
    /** The way beside the pipeline; null when there is none. Set before the turn is opened. */
    private volatile @Nullable DirectSocket socket;
    /** Whether pieces came that the thread which brings them may send itself. */
    private final AtomicBoolean fresh = new AtomicBoolean();

    /** Whether the writer has ended the stream; of whoever has the turn. */
    private boolean ended;

    private final AtomicBoolean scheduled = new AtomicBoolean();
    private final CountDownLatch done = new CountDownLatch(1);
    /** Opens when the last piece has come, for the thread that waits here to send it, and when all is done. */
    private final CountDownLatch lastCame = new CountDownLatch(1);

    private volatile @Nullable Throwable failure;
    private volatile long lastWrite = System.nanoTime();
    private final UnreadBytes unread = new UnreadBytes();

    /** Longest silence, in nanoseconds. */
    private final long keepAlive;
    /** Longest time for which a client may take nothing of what waits for it, in nanoseconds. */
    private final long slowReader;

    /**
     * @param queue that of the channel's event loop
     * @param sender for the thread that brings the pieces
     * @param edges for the thread that runs this
     */
    EventPump(
            Exchange exchange,
            GenerationCall call,
            EventStream events,
            EventWriter writer,
            Consumer<Piece> counter,
            PumpQueue queue,
            DirectSender sender,
            DirectSender edges) {
        this.exchange = exchange;
        this.channel = exchange.channel();
        this.call = call;
        this.events = events;
        this.writer = writer;
        this.counter = counter;
        this.queue = queue;
        this.sender = sender;
        this.edges = edges;
        this.keepAlive = exchange.limits().keepAlive().toNanos();
        this.slowReader = exchange.limits().slowReader().toNanos();
    }

    /**
     * Runs until the last event has been written.
     *
     * @throws ClientGoneException when the client left or did not read
     */
    void run() {
        if (!beginAside()) {
            begin();
        }
        try {
            // Without a limit: a virtual thread that waits for a time costs a wake-up of yet another thread.
            lastCame.await();
            if (!isDone() && !(send(edges) && isDone())) {
                scheduleNow();
            }
            done.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            finish();
            throw new ClientGoneException("Interrupted");
        } finally {
            queue.unwatch(this);
        }
        switch (failure) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    /** Sends the head on this thread; false when there is no way beside the pipeline yet. */
    private boolean beginAside() {
        DirectSocket way = exchange.freeSocket();
        if (way == null || !events.isChunked() || !edges.take()) {
            return false;
        }
        // Nobody else knows of the stream, whose turn is still the event loop's.
        boolean sent;
        try {
            sent = events.send(edges, way);
        } finally {
            edges.release();
        }
        socket = way;
        if (sent) {
            turn.open();
        }
        listen();
        if (!sent || !call.isQuiet()) {
            scheduleNow();
        }
        return true;
    }

    /** Head and first events leave at once, so that clients and proxies see life while the prompt is read; only then may others send. */
    private void begin() {
        try {
            channel.eventLoop().execute(() -> {
                events.flush();
                socket = events.isChunked() ? exchange.directSocket() : null;
                listen();
                scheduleNow();
            });
        } catch (RejectedExecutionException e) {
            fail(PumpQueue.stopped());
        }
    }

    private void listen() {
        queue.watch(this);
        call.onArrival(this);
        exchange.onWritable(this::scheduleNow);
    }

    @Override
    public void arrived() {
        if (fresh.get()) {
            return;
        }
        if (turn.isLoops() || !queue.enter()) {
            schedule();
        } else if (!fresh.compareAndSet(false, true)) {
            queue.leave();
        }
    }

    @Override
    public void paused() {
        if (fresh.get() && fresh.compareAndSet(true, false)) {
            queue.leave();
            if (!call.hasEnded() || socket == null || turn.isLoops()) {
                if (send(sender)) {
                    return;
                }
                schedule();
            } else {
                // The end is more work, for which the next pass need not wait. What comes right before it goes along.
                lastCame.countDown();
            }
        }
        queue.wake();
    }

    /** Sends what there is past the pipeline, on the calling thread; false when the event loop has to do it otherwise. */
    private boolean send(DirectSender sender) {
        DirectSocket way = socket;
        if (way == null || !turn.take()) {
            return false;
        }
        boolean sent = false;
        if (sender.take()) {
            events.borrow(sender.memory());
            try {
                sent = sendPieces(sender, way);
            } finally {
                events.giveBack();
                sender.release();
            }
        }
        if (isDone()) {
            // Ended: the turn is nobody's.
            return true;
        }
        if (sent) {
            return turn.giveBack();
        }
        turn.leave();
        return false;
    }

    private boolean sendPieces(DirectSender sender, DirectSocket way) {
        try {
            Piece piece;
            while (!writer.isDone() && events.pendingBytes() <= DirectSender.MOST && (piece = call.poll()) != null) {
                counter.accept(piece);
                writer.write(piece);
            }
            if (writer.isDone()) {
                return sendEnd(sender, way);
            }
            lastWrite = System.nanoTime();
            return events.send(sender, way);
        } catch (RuntimeException | Error e) {
            fail(e);
            return false;
        }
    }

    private boolean sendEnd(DirectSender sender, DirectSocket way) {
        writer.end();
        ended = true;
        if (!events.sendEnd(sender, way)) {
            return false;
        }
        exchange.sentAside();
        finish();
        return true;
    }

    /** Whether nothing more is written. */
    boolean isDone() {
        return done.getCount() == 0;
    }

    private void finish() {
        done.countDown();
        lastCame.countDown();
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
        finish();
    }

    /** Looks after silence and slow readers. */
    void look() {
        if (isDone()) {
            return;
        }
        long now = System.nanoTime();
        if (unread.nanos(channel, now) >= slowReader) {
            exchange.abort();
            fail(new ClientGoneException(
                    "The client did not read its stream for " + TimeUnit.NANOSECONDS.toSeconds(slowReader) + " s"));
        } else if (now - lastWrite >= keepAlive) {
            keepAlive();
        }
    }

    private void keepAlive() {
        // Behind an end that waits for the event loop nothing may come.
        if (!isDone() && channel.isWritable() && turn.claim() && !ended) {
            writer.keepAlive();
            events.flush();
            lastWrite = System.nanoTime();
            openTurn();
        }
    }

    /** Writes what there is, on the event loop. Returns whether {@link #flush} has to follow. */
    boolean write() {
        scheduled.set(false);
        if (isDone() || send(queue.sender()) || !turn.claim()) {
            return false;
        }
        writePieces();
        return true;
    }

    private void writePieces() {
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
                if (!ended) {
                    writer.end();
                    ended = true;
                }
                events.end();
                finish();
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
        if (!isDone()) {
            channel.flush();
            openTurn();
        }
    }

    /** Lets other threads send if nothing is on its way through the pipeline. */
    private void openTurn() {
        if (socket != null && turn.isLoops()) {
            ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();
            if (outbound != null && outbound.isEmpty() && events.isEmpty()) {
                turn.open();
            }
        }
    }

    private boolean hasRoom() {
        return channel.isWritable() || !channel.isActive();
    }
}
