package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.FinishReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A thousand clients that go away in the middle of their answers leave nothing behind. */
final class AbortTest {
    private static final int ABORTS = 1000;
    private static final String[] BODIES = {
        "/v1/chat/completions|{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}",
        "/v1/chat/completions|{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
        "/v1/messages|{\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}",
        "/v1/messages|{\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
        "/v1/responses|{\"input\":\"Hi\",\"stream\":true}",
        "/v1/completions|{\"prompt\":\"Hi\"}",
    };

    @Test
    void abortedRequestsLeaveNothingBehind() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("Hello");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine)) {
            settled(server);
            long descriptors = descriptors();
            int threads = Thread.activeCount();
            for (int i = 0; i < ABORTS; i++) {
                abort(server, engine, BODIES[i % BODIES.length]);
            }
            for (int i = 0; i < ABORTS; i++) {
                assertNotNull(engine.cancellations.poll(20, TimeUnit.SECONDS), "cancellation " + i);
            }
            settled(server);
            assertEquals(0, engine.running.get());
            assertTrue(descriptors() <= descriptors + 3, "descriptors: " + descriptors + ", then " + descriptors());
            assertTrue(Thread.activeCount() <= threads + 3, "threads: " + threads + ", then " + Thread.activeCount());
        }
    }

    private static void abort(TestServer server, FakeInferenceService engine, String request) throws Exception {
        String[] parts = request.split("\\|", 2);
        try (RawClient client = new RawClient(server.server.port())) {
            client.post(parts[0], parts[1]);
            if (parts[1].contains("\"stream\":true")) {
                client.readUntil("Hello");
            }
            assertNotNull(engine.requests.poll(20, TimeUnit.SECONDS));
            client.reset();
        }
    }

    /** Asks until only the asking connection is left and no answer is being made. */
    private static void settled(TestServer server) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        JsonNode facts;
        do {
            facts = TestServer.json(server.get("/v1/status")).get("server");
        } while ((facts.get("connections").asInt() > 1
                        || facts.get("active_requests").asInt() > 0)
                && System.nanoTime() < end);
        assertEquals("1 0", facts.get("connections") + " " + facts.get("active_requests"));
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
