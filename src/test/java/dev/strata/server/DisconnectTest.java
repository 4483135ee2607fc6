package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Prompt;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that goes away stops its own answer, and nobody else's. */
final class DisconnectTest {
    private static String chat(String text, boolean stream) {
        return "{\"messages\":[{\"role\":\"user\",\"content\":\"" + text + "\"}],\"stream\":" + stream + "}";
    }

    private static String text(GenerateRequest request) {
        return String.valueOf(
                ((Prompt.Chat) request.prompt()).messages().getFirst().content());
    }

    @Test
    void closingAStreamCancelsIt() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("Hello");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine)) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.post("/v1/chat/completions", chat("a", true));
                client.readUntil("Hello");
            }
            assertNotNull(engine.cancellations.poll(10, TimeUnit.SECONDS));
        }
    }

    @Test
    void gapsOfAnAnswerThatIsLeftAreCounted() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("one");
            output.content("two");
            output.content("three");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine)) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.post("/v1/chat/completions", chat("a", true));
                client.readUntil("three");
            }
            assertNotNull(engine.cancellations.poll(10, TimeUnit.SECONDS));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
            while (!server.get("/metrics").body().contains("strata_token_gap_seconds_count 2\n")) {
                assertTrue(System.nanoTime() < end, "two gaps were never told");
            }
        }
    }

    @Test
    void resettingAPlainRequestCancelsIt() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine)) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.post("/v1/chat/completions", chat("a", false));
                assertNotNull(engine.requests.poll(10, TimeUnit.SECONDS));
                client.reset();
            }
            assertNotNull(engine.cancellations.poll(10, TimeUnit.SECONDS));
        }
    }

    @Test
    void othersAreNotTouched() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            if (text(output.request).equals("stays")) {
                assertTrue(go.await(20, TimeUnit.SECONDS));
                output.content("done");
                output.finish(FinishReason.STOP);
            } else {
                output.awaitCancel();
                output.finish(FinishReason.CANCELLED);
            }
        });
        try (TestServer server = TestServer.start(engine);
                RawClient stays = new RawClient(server.server.port())) {
            stays.post("/v1/chat/completions", chat("stays", true));
            stays.readUntil(": accepted\n\n");
            try (RawClient leaves = new RawClient(server.server.port())) {
                leaves.post("/v1/chat/completions", chat("leaves", true));
                leaves.readUntil(": accepted\n\n");
            }
            GenerateRequest cancelled = engine.cancellations.poll(10, TimeUnit.SECONDS);
            assertNotNull(cancelled);
            assertEquals("leaves", text(cancelled));
            go.countDown();
            assertTrue(stays.readUntil("[DONE]").contains("done"));
            assertNull(engine.cancellations.poll());
        }
    }

    @Test
    void slowReaderIsDropped() throws Exception {
        String big = "x".repeat(10_000);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            while (!output.isCancelled()) {
                output.content(big);
            }
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(
                        engine,
                        options -> options.withLimits(options.limits().with(limits -> {
                            limits.slowReader = Duration.ofMillis(200);
                            limits.queuedDeltas = 100;
                        })));
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", chat("a", true));
            client.readUntil(": accepted\n\n");
            // Reads nothing any more.
            assertNotNull(engine.cancellations.poll(20, TimeUnit.SECONDS));
        }
    }

    /** A piece is much larger than all buffers on the way, and the socket is full until its end has gone. */
    @Test
    void whoReadsSlowlyIsNotDropped() throws Exception {
        Duration limit = Duration.ofSeconds(1);
        String big = "x".repeat(64 << 20);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content(big);
            output.content("the end");
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(
                        engine,
                        options -> options.withLimits(options.limits().with(limits -> limits.slowReader = limit)));
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", chat("a", true));
            client.readUntil(": accepted\n\n");
            long start = System.nanoTime();
            int pieces = 0;
            while (System.nanoTime() - start < 2 * limit.toNanos()) {
                client.read(128 << 10);
                pieces++;
                while (System.nanoTime() - start < pieces * limit.toNanos() / 50) {
                    server.get("/health");
                }
            }
            assertNull(engine.cancellations.poll());
            client.read(big.length() - pieces * (128 << 10));
            client.readUntil("[DONE]");
        }
    }

    /** Nothing is being made any more; the end of a stream or a whole answer waits in the server. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoLeavesAnEndedAnswerUnreadIsDropped(boolean stream) throws Exception {
        String big = "x".repeat(1_000_000);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            for (int i = 0; i < 20; i++) {
                output.later(new Delta.Content(0, big, List.of()));
            }
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(
                        engine,
                        options -> options.withLimits(options.limits().with(limits -> {
                            limits.slowReader = Duration.ofMillis(200);
                            limits.bodyTime = Duration.ofMillis(100);
                        })));
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", chat("a", stream));
            assertNotNull(engine.requests.poll(20, TimeUnit.SECONDS));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            String connections;
            do {
                connections =
                        server.get("/metrics").body().replaceAll("(?s).*\nstrata_http_connections ([^\n]*).*", "$1");
            } while (!connections.equals("1.0") && System.nanoTime() < end);
            assertEquals("1.0", connections, "the one that asks");
        }
    }

    @Test
    void deleteCancelsAPlainRequestByTheClientsOwnId() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("Hello");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        String id = "0123456789abcdef-mine";
        try (TestServer server = TestServer.start(engine);
                RawClient client = new RawClient(server.server.port())) {
            String body = chat("a", false);
            client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: " + id
                    + "\r\nContent-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
            assertNotNull(engine.requests.poll(10, TimeUnit.SECONDS));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
            int status;
            do {
                // The engine may have the request a moment before the server has listed it.
                status = server.send(
                                server.request("/v1/requests/" + id).DELETE().build())
                        .statusCode();
            } while (status == 404 && System.nanoTime() < end);
            assertEquals(200, status);
            client.readUntil("\"finish_reason\":\"cancelled\"");
        }
    }

    @Test
    void deleteCancelsById() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("Hello");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine);
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", chat("a", true));
            String start = client.readUntil("Hello");
            String id = start.replaceAll("(?s).*\"id\":\"([^\"]+)\".*", "$1");
            HttpResponse<String> deleted = server.send(
                    server.request("/v1/chat/completions/" + id).DELETE().build());
            assertEquals(200, deleted.statusCode());
            String rest = client.readUntil("data: [DONE]\n\n");
            assertTrue(rest.contains("\"finish_reason\":\"cancelled\""), rest);
            assertEquals(
                    404,
                    server.send(server.request("/v1/requests/" + id).DELETE().build())
                            .statusCode());
        }
    }
}
