package dev.strata.server.http;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Closes connections that take too long over a request: headers that trickle in, bodies that stall, kept-alive connections without a request. While an answer
 * is being made or streamed no clock runs. One half sits before the codec and sees raw bytes, the other after it and sees messages; both live on the event
 * loop.
 */
final class RequestClock {
    private final Limits limits;
    private @Nullable ScheduledFuture<?> deadline;
    private boolean waiting = true;
    private boolean inHeaders;

    RequestClock(Limits limits) {
        this.limits = limits;
    }

    ChannelInboundHandlerAdapter bytes() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelActive(ChannelHandlerContext context) {
                // A fresh connection has no excuse: its first request is due like any other's headers.
                start(context, limits.headerTime());
                context.fireChannelActive();
            }

            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                if (waiting && !inHeaders) {
                    inHeaders = true;
                    start(context, limits.headerTime());
                }
                context.fireChannelRead(message);
            }

            @Override
            public void channelInactive(ChannelHandlerContext context) {
                stop();
                context.fireChannelInactive();
            }
        };
    }

    ChannelInboundHandlerAdapter messages() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                if (message instanceof LastHttpContent) {
                    stop();
                } else if (message instanceof HttpRequest || message instanceof HttpContent) {
                    waiting = false;
                    inHeaders = false;
                    start(context, limits.bodyTime());
                }
                context.fireChannelRead(message);
            }
        };
    }

    /** A response has ended and no pipelined request waits: the connection is idle. */
    void idle(ChannelHandlerContext context) {
        waiting = true;
        inHeaders = false;
        start(context, limits.idleTime());
    }

    private void start(ChannelHandlerContext context, Duration time) {
        stop();
        Runnable close = () -> {
            ChannelFuture _ = context.channel().close();
        };
        deadline = context.executor().schedule(close, time.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void stop() {
        if (deadline != null) {
            deadline.cancel(false);
            deadline = null;
        }
    }
}
