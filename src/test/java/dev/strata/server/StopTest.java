package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.FinishReason;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Stopping: nothing new is taken, what runs may end, what does not end is cancelled. */
final class StopTest {
    private static final String STREAM = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}";

    private static void awaitRefused(int port) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (System.nanoTime() < end) {
            try {
                new RawClient(port).close();
            } catch (ConnectException e) {
                return;
            } catch (IOException e) {
                Thread.onSpinWait();
            }
        }
        throw new AssertionError("The port still takes connections");
    }

    @Test
    void runningAnswersFinish() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("first");
            assertTrue(go.await(30, TimeUnit.SECONDS));
            output.content("last");
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(engine);
                RawClient idle = new RawClient(server.server.port());
                RawClient client = new RawClient(server.server.port())) {
            idle.get("/health");
            idle.readUntil("ok\"}");
            client.post("/v1/chat/completions", STREAM);
            client.readUntil("first");
            Thread stopping = Thread.ofVirtual().start(() -> server.server.stop(Duration.ofSeconds(30)));
            assertEquals("", idle.readAll());
            awaitRefused(server.server.port());
            go.countDown();
            String rest = client.readAll();
            assertTrue(rest.contains("last") && rest.contains("data: [DONE]"), rest);
            assertTrue(stopping.join(Duration.ofSeconds(20)));
            assertThrows(IOException.class, () -> new RawClient(server.server.port()).close());
        }
    }

    @Test
    void whatDoesNotEndIsCancelled() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("first");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        try (TestServer server = TestServer.start(engine);
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", STREAM);
            client.readUntil("first");
            server.server.stop(Duration.ofMillis(50));
            assertNotNull(engine.cancellations.poll(10, TimeUnit.SECONDS));
            String rest = client.readAll();
            assertTrue(rest.contains("\"finish_reason\":\"cancelled\"") && rest.contains("data: [DONE]"), rest);
        }
    }

    @Test
    void portInUseIsNamed() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            int port = server.server.port();
            IOException refused = assertThrows(
                    IOException.class,
                    () -> HttpServer.start(FakeInferenceService.hello(), ServerOptions.of("127.0.0.1", port)));
            assertTrue(String.valueOf(refused.getMessage()).contains("127.0.0.1:" + port), refused.getMessage());
            IOException early =
                    assertThrows(IOException.class, () -> HttpServer.requireFree(ServerOptions.of("127.0.0.1", port)));
            assertTrue(String.valueOf(early.getMessage()).contains("127.0.0.1:" + port), early.getMessage());
        }
    }
}
