package dev.strata.server.http;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Time-outs of a connection, on a clock that stands still until told. */
final class RequestClockTest {
    private static final Limits LIMITS = Limits.DEFAULTS.with(limits -> {
        limits.headerTime = Duration.ofSeconds(10);
        limits.bodyTime = Duration.ofSeconds(20);
        limits.idleTime = Duration.ofSeconds(60);
    });

    private final RequestClock clock = new RequestClock(LIMITS);
    private final EmbeddedChannel channel = new EmbeddedChannel();

    @BeforeEach
    void open() {
        channel.freezeTime();
        channel.pipeline().addLast(clock.bytes(), new HttpServerCodec(), clock.messages());
        channel.pipeline().fireChannelActive();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void receive(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
    }

    private void pass(int seconds) {
        channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
        channel.runPendingTasks();
        channel.runScheduledPendingTasks();
    }

    private ChannelHandlerContext context() {
        return channel.pipeline().firstContext();
    }

    @Test
    void silenceAfterConnecting() {
        pass(9);
        assertTrue(channel.isOpen());
        pass(2);
        assertFalse(channel.isOpen());
    }

    @Test
    void tricklingHeadersAreNotProlonged() {
        receive("GET /");
        pass(6);
        receive("health HTTP/1.1\r\n");
        pass(6);
        assertFalse(channel.isOpen());
    }

    @Test
    void everyPieceOfABodyBuysTime() {
        receive("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
        for (int i = 0; i < 3; i++) {
            pass(15);
            receive("x");
        }
        assertTrue(channel.isOpen());
        pass(21);
        assertFalse(channel.isOpen());
    }

    @Test
    void noClockRunsWhileAnAnswerIsMade() {
        receive("GET / HTTP/1.1\r\n\r\n");
        pass(100_000);
        assertTrue(channel.isOpen());
        clock.idle(context(), 0);
        pass(59);
        assertTrue(channel.isOpen());
        pass(2);
        assertFalse(channel.isOpen());
    }

    @Test
    void theNextRequestHasItsOwnTime() {
        receive("GET / HTTP/1.1\r\n\r\n");
        clock.idle(context(), 0);
        pass(50);
        receive("GET ");
        pass(9);
        assertTrue(channel.isOpen());
        pass(2);
        assertFalse(channel.isOpen());
    }
}
