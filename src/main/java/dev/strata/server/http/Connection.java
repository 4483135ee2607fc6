package dev.strata.server.http;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import java.util.ArrayDeque;
import java.util.Deque;
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

    Connection(Dispatcher dispatcher, RequestClock clock) {
        this.dispatcher = dispatcher;
        this.clock = clock;
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
        } else {
            ChannelFuture _ = context.close();
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
        current = new Exchange(context, this, request, dispatcher.limits());
        dispatcher.dispatch(current);
    }

    /** The last byte of the current answer went to the socket, or failed to. Runs on the event loop. */
    void answered(ChannelHandlerContext context) {
        current = null;
        writable = () -> {};
        FullHttpRequest next = pipelined.poll();
        if (next != null) {
            try {
                begin(context, next);
            } finally {
                next.release();
            }
        } else if (dispatcher.isStopping()) {
            ChannelFuture _ = context.close();
        } else {
            clock.idle(context);
        }
    }

    /** Closes the connection unless a request is in flight; part of a graceful stop. */
    void closeIfIdle(ChannelHandlerContext context) {
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
        context.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        // Resets, TLS alerts and garbage instead of HTTP: the client's own doing, nothing to report above debug.
        LOG.debug("Connection {} failed", context.channel().remoteAddress(), cause);
        ChannelFuture _ = context.close();
    }
}
