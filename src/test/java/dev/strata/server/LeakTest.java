package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What the server logs: no leaked buffers, no secrets. */
final class LeakTest {
    private static ListAppender<ILoggingEvent> listen(String logger) {
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        ((Logger) LoggerFactory.getLogger(logger)).addAppender(appender);
        return appender;
    }

    @Test
    void noBufferIsLost() throws Exception {
        assertEquals(ResourceLeakDetector.Level.PARANOID, ResourceLeakDetector.getLevel());
        ListAppender<ILoggingEvent> leaks = listen(ResourceLeakDetector.class.getName());
        try (TestServer server = TestServer.start(
                FakeInferenceService.hello(),
                options -> options.withLimits(options.limits().with(limits -> limits.bodyBytes = 5000)))) {
            for (int i = 0; i < 20; i++) {
                server.post(
                        "/v1/chat/completions",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}");
                server.post("/v1/chat/completions", "{");
                server.post("/nowhere", "{}");
                try (RawClient large = new RawClient(server.server.port())) {
                    large.post("/v1/chat/completions", " ".repeat(6000));
                    large.readUntil("\r\n");
                }
                try (RawClient half = new RawClient(server.server.port())) {
                    half.send(
                            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"prompt\"");
                }
                try (RawClient many = new RawClient(server.server.port())) {
                    many.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(40));
                }
            }
        }
        for (int i = 0; i < 5; i++) {
            // The detector reports when it sees a collected buffer at the next allocation.
            System.gc();
            PooledByteBufAllocator.DEFAULT.directBuffer(64).release();
        }
        assertEquals(
                List.of(),
                leaks.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
    }

    @Test
    void noSecretIsLogged() throws Exception {
        ListAppender<ILoggingEvent> lines = listen("strata");
        ((Logger) LoggerFactory.getLogger("strata")).setLevel(Level.DEBUG);
        try (TestServer server =
                TestServer.start(FakeInferenceService.hello(), options -> options.withApiKeys(List.of("sesame-key")))) {
            server.send(server.request("/v1/models?key=sesame-query")
                    .header("authorization", "Bearer sesame-key")
                    .build());
            server.send(server.request("/v1/chat/completions")
                    .header("x-api-key", "sesame-key")
                    .header("content-type", "application/json")
                    .POST(java.net.http.HttpRequest.BodyPublishers.ofString(
                            "{\"messages\":[{\"role\":\"user\",\"content\":\"sesame-text\"}]}"))
                    .build());
            server.get("/sesame%0a-path");
        }
        List<String> messages =
                lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
        assertEquals(3, messages.size(), messages.toString());
        for (String message : messages) {
            assertFalse(message.contains("sesame-key") || message.contains("sesame-query"), message);
            assertFalse(message.contains("sesame-text") || message.contains("\n"), message);
        }
    }
}
