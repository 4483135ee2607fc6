package dev.strata.server.http;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client connection: hands its requests to the dispatcher one after the other. Reading goes on while an answer is made, since that is the only way to
 * notice that the client has gone; pipelined requests wait in a short queue.
 */
final class Connection extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final Logger LOG = LoggerFactory.getLogger(Connection.class);
    private static final int MAX_PIPELINED = 16;

    private final Dispatcher dispatcher;
    private final RequestClock clock;
    private volatile Runnable writable = () -> {};
    private final Deque<FullHttpRequest> pipelined = new ArrayDeque<>();
    private @Nullable Exchange current;
    private @Nullable DirectSocket direct;
    /** How many requests wait in {@link #pipelined}. */
    private volatile int waiting;

    Connection(Dispatcher dispatcher, RequestClock clock) {
        this.dispatcher = dispatcher;
        this.clock = clock;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        clock.onLook(() -> settle(context));
    }

    void onWritable(Runnable action) {
        writable = action;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
        if (current == null) {
            begin(context, request);
        } else if (pipelined.size() < MAX_PIPELINED) {
            pipelined.add(request.retain());
            waiting = pipelined.size();
            // Whoever sent the end meanwhile may not have seen that one waits.
            settle(context);
        } else {
            ChannelFuture _ = context.close();
        }
    }

    /** Whether an answer has not ended. Called on the event loop. */
    boolean isAnswering() {
        return current != null && !current.isOver();
    }

    /** Takes note of an answer that ended beside the pipeline, whose thread wakes the event loop only where it must. Runs on the event loop. */
    void settle(ChannelHandlerContext context) {
        if (current != null && current.isOver()) {
            answered(context);
        }
    }

    /** The current answer ended beside the pipeline. Called by any thread. */
    void sentAside(ChannelHandlerContext context, boolean closes) {
        if (closes || waiting > 0 || dispatcher.isStopping()) {
            try {
                context.executor().execute(() -> settle(context));
            } catch (RejectedExecutionException e) {
                // The event loop has ended, and the connection with it.
            }
        }
    }

    /** Opened for the first stream, kept for the next. Called on the event loop. */
    @Nullable
    DirectSocket directSocket(ChannelHandlerContext context) {
        if (direct == null) {
            direct = DirectSocket.open(context.channel());
        }
        return direct;
    }

    private void begin(ChannelHandlerContext context, FullHttpRequest request) {
        ChannelOutboundBuffer outbound = context.channel().unsafe().outboundBuffer();
        boolean idle = outbound != null && outbound.isEmpty();
        current = new Exchange(context, this, request, dispatcher.limits(), idle ? direct : null);
        dispatcher.dispatch(current);
    }

    /** The last byte of the current answer went to the socket, or failed to. Runs on the event loop. */
    void answered(ChannelHandlerContext context) {
        boolean closes = current != null && current.closes();
        long ago = current == null ? 0 : current.nanosSinceOver();
        current = null;
        writable = () -> {};
        if (closes) {
            ChannelFuture _ = context.close();
            return;
        }
        FullHttpRequest next = pipelined.poll();
        waiting = pipelined.size();
        if (next != null) {
            try {
                begin(context, next);
            } finally {
                next.release();
            }
        } else if (dispatcher.isStopping()) {
            ChannelFuture _ = context.close();
        } else {
            clock.idle(context, ago);
        }
    }

    /** Closes the connection unless a request is in flight; part of a graceful stop. */
    void closeIfIdle(ChannelHandlerContext context) {
        settle(context);
        if (current == null) {
            ChannelFuture _ = context.close();
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (context.channel().isWritable()) {
            writable.run();
        }
        context.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (current != null) {
            current.disconnected();
        }
        pipelined.forEach(FullHttpRequest::release);
        pipelined.clear();
        waiting = 0;
        context.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        // Resets, TLS alerts and garbage instead of HTTP: the client's own doing, nothing to report above debug.
        LOG.debug("Connection {} failed", context.channel().remoteAddress(), cause);
        ChannelFuture _ = context.close();
    }
}
