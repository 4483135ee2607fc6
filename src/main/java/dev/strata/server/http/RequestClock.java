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
 * Closes connections that take too long over a request: headers that trickle in, bodies that stall, kept-alive connections without a request; and those that
 * take nothing of what waits for them. While an answer is being made or streamed no other clock runs. One half sits before the codec and sees raw bytes, the
 * other after it and sees messages; both live on the event loop.
 *
 * <p>Deadlines are only noted. One timer looks at them, at least as often as the shortest of the limits, so that a request costs the event loop none of its
 * own.
 */
final class RequestClock {
    private static final long NEVER = Long.MAX_VALUE;

    private final Limits limits;
    /** The longest time between two looks, in nanoseconds: shorter than any limit, so that no deadline comes before the next look. */
    private final long period;

    private final long slowReader;
    private final UnreadBytes unread = new UnreadBytes();
    private Runnable settle = () -> {};
    private @Nullable ScheduledFuture<?> look;
    /** In the event loop's nanoseconds, or {@link #NEVER}. */
    private long deadline = NEVER;

    private boolean waiting = true;
    private boolean inHeaders;

    RequestClock(Limits limits) {
        this.limits = limits;
        this.period = Math.min(
                limits.headerTime().toNanos(),
                Math.min(limits.bodyTime().toNanos(), limits.idleTime().toNanos()));
        this.slowReader = limits.slowReader().toNanos();
    }

    /** Called before bytes or the time are looked at: an answer may have ended without the event loop. */
    void onLook(Runnable action) {
        settle = action;
    }

    ChannelInboundHandlerAdapter bytes() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelActive(ChannelHandlerContext context) {
                // A fresh connection has no excuse: its first request is due like any other's headers.
                start(context, limits.headerTime());
                lookLater(context);
                context.fireChannelActive();
            }

            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                settle.run();
                if (waiting && !inHeaders) {
                    inHeaders = true;
                    start(context, limits.headerTime());
                }
                context.fireChannelRead(message);
            }

            @Override
            public void channelInactive(ChannelHandlerContext context) {
                stop();
                if (look != null) {
                    look.cancel(false);
                }
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

    /**
     * A response has ended and no pipelined request waits: the connection is idle.
     *
     * @param nanos for so long
     */
    void idle(ChannelHandlerContext context, long nanos) {
        waiting = true;
        inHeaders = false;
        start(context, limits.idleTime().minusNanos(nanos));
    }

    private void start(ChannelHandlerContext context, Duration time) {
        deadline = now(context) + time.toNanos();
    }

    private void stop() {
        deadline = NEVER;
    }

    private static long now(ChannelHandlerContext context) {
        return context.executor().ticker().nanoTime();
    }

    private void lookLater(ChannelHandlerContext context) {
        long left = deadline == NEVER ? period : Math.min(period, deadline - now(context));
        look = context.executor().schedule(() -> look(context), left, TimeUnit.NANOSECONDS);
    }

    private void look(ChannelHandlerContext context) {
        settle.run();
        long now = now(context);
        if (now >= deadline || unread.nanos(context.channel(), now) >= slowReader) {
            ChannelFuture _ = context.channel().close();
        } else {
            lookLater(context);
        }
    }
}
