package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The frames of streamed chat completions, byte for byte. */
final class ChatStreamTest {
    private static final String STREAM = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}";
    private static final String STREAM_WITH_USAGE =
            "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
    private static final String TIMINGS =
            "{\"cache_n\":3,\"prompt_n\":8,\"prompt_ms\":40.0,\"prompt_per_token_ms\":5.0,"
                    + "\"prompt_per_second\":200.0,\"predicted_n\":5,\"predicted_ms\":50.0,\"predicted_per_token_ms\":10.0,"
                    + "\"predicted_per_second\":100.0}";

    /** Replaces what differs from run to run. */
    private static String fixed(String text) {
        return text.replaceAll("chatcmpl-[A-Za-z0-9]{24}", "ID").replaceAll("\"created\":\\d+", "\"created\":0");
    }

    private static String chunk(String rest) {
        return "data: {\"id\":\"ID\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"strata-tiny\","
                + "\"system_fingerprint\":\"strata-dev\",\"choices\":[" + rest + "}";
    }

    @Test
    void framesAreExact() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            String body = fixed(server.post("/v1/chat/completions", STREAM).body());
            assertEquals(
                    ": accepted\n\n"
                            + chunk(
                                    "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"},\"finish_reason\":null}]")
                            + "\n\n"
                            + chunk("{\"index\":0,\"delta\":{\"content\":\" world\"},\"finish_reason\":null}]")
                            + "\n\n"
                            + chunk("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"timings\":" + TIMINGS)
                            + "\n\ndata: [DONE]\n\n",
                    body);
        }
    }

    @Test
    void usageComesOnceAndOnlyWhenAsked() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            assertFalse(server.post("/v1/chat/completions", STREAM).body().contains("\"usage\""));

            List<String> events = TestServer.events(
                    server.post("/v1/chat/completions", STREAM_WITH_USAGE).body());
            String last = fixed(events.get(events.size() - 2));
            assertEquals(
                    chunk(
                            "],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":5,\"total_tokens\":16,"
                                    + "\"prompt_tokens_details\":{\"cached_tokens\":3},\"completion_tokens_details\":{\"reasoning_tokens\":2}}"),
                    last);
            assertEquals("data: [DONE]", events.getLast());
            for (String event : events.subList(0, events.size() - 2)) {
                assertTrue(event.contains("\"usage\":null"), event);
            }
        }
    }

    @Test
    void toolCallsCarryIndexesAndPieces() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.reasoning("hm");
            output.call(0, "call_a", "weather", "{\"city\":", "\"Oslo\"}");
            output.call(1, "call_b", "time", "{}");
            output.finish(FinishReason.TOOL_CALLS);
        });
        try (TestServer server = TestServer.start(engine)) {
            List<String> deltas = TestServer.events(
                            fixed(server.post("/v1/chat/completions", STREAM).body()))
                    .stream()
                    .filter(event -> event.contains("\"delta\""))
                    .map(event -> TestServer.json(event.substring(6))
                            .at("/choices/0/delta")
                            .toString())
                    .toList();
            assertEquals(
                    List.of(
                            "{\"role\":\"assistant\",\"reasoning_content\":\"hm\"}",
                            "{\"tool_calls\":[{\"index\":0,\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"\"}}]}",
                            "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\"}}]}",
                            "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Oslo\\\"}\"}}]}",
                            "{\"tool_calls\":[{\"index\":1,\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"time\",\"arguments\":\"\"}}]}",
                            "{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]}",
                            "{}"),
                    deltas);
        }
    }

    @Test
    void finishReasonsTellTheTruth() throws Exception {
        assertEquals("length", finish(FinishReason.LENGTH, true));
        assertEquals("tool_calls", finish(FinishReason.STOP, true));
        assertEquals("tool_calls", finish(FinishReason.TOOL_CALLS, true));
        assertEquals("stop", finish(FinishReason.STOP, false));
        assertEquals("repetition", finish(FinishReason.REPETITION, false));
    }

    private static String finish(FinishReason reason, boolean call) throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            if (call) {
                output.call(0, "call_a", "f", "{\"a\":");
            }
            output.finish(reason);
        });
        try (TestServer server = TestServer.start(engine)) {
            List<String> events = TestServer.events(
                    server.post("/v1/chat/completions", STREAM).body());
            assertEquals("data: [DONE]", events.getLast());
            String streamed = TestServer.json(events.get(events.size() - 2).substring(6))
                    .at("/choices/0/finish_reason")
                    .asText();
            String whole = TestServer.json(
                            server.post("/v1/chat/completions", STREAM.replace("\"stream\":true", "\"stream\":false")))
                    .at("/choices/0/finish_reason")
                    .asText();
            assertEquals(streamed, whole);
            return streamed;
        }
    }

    @Test
    void failureInTheMiddleIsAnEventAndStillDone() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("Hel");
            output.fail(new ApiError(ApiError.Kind.INTERNAL, "non_finite_logits", "Logits are not finite", null));
        });
        try (TestServer server = TestServer.start(engine)) {
            List<String> events = TestServer.events(
                    server.post("/v1/chat/completions", STREAM_WITH_USAGE).body());
            assertEquals(
                    "data: {\"error\":{\"message\":\"Logits are not finite\",\"type\":\"server_error\",\"param\":null,\"code\":\"non_finite_logits\"}}",
                    events.get(1));
            assertEquals("data: [DONE]", events.get(2));
            assertEquals(3, events.size());
        }
    }

    @Test
    void emptyAnswerStillHasRoleFinishAndDone() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> output.finish(FinishReason.LENGTH));
        try (TestServer server = TestServer.start(engine)) {
            List<String> events = TestServer.events(
                    fixed(server.post("/v1/chat/completions", STREAM).body()));
            assertEquals(
                    chunk(
                            "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"length\"}],\"timings\":"
                                    + TIMINGS),
                    events.get(0));
            assertEquals("data: [DONE]", events.get(1));
        }
    }

    @Test
    void commentsKeepTheStreamAliveWhileThePromptIsRead() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> output.awaitCancel());
        try (TestServer server = TestServer.start(
                engine,
                options -> options.withLimits(
                        options.limits().with(limits -> limits.keepAlive = Duration.ofMillis(20))))) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.post("/v1/chat/completions", STREAM);
                String head = client.readUntil(": accepted\n\n");
                assertTrue(head.contains("content-type: text/event-stream; charset=utf-8"), head);
                assertTrue(head.contains("x-accel-buffering: no"), head);
                assertTrue(head.contains("cache-control: no-cache"), head);
                client.readUntil(": keep-alive\n\n");
                client.readUntil(": keep-alive\n\n");
            }
        }
    }

    @Test
    void compressionIsNeverUsed() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello());
                RawClient client = new RawClient(server.server.port())) {
            client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br, zstd, gzip\r\n"
                    + "Content-Type: application/json\r\nContent-Length: " + STREAM.length() + "\r\n\r\n" + STREAM);
            String answer = client.readUntil("data: [DONE]\n\n");
            assertFalse(answer.contains("content-encoding"), answer);
        }
    }

    @Test
    void progressChunksAreOptIn() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            if (output.request.progress()) {
                output.send(new Delta.Progress(0, 100, 20, 60, 12.5));
            }
            output.content("x");
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(engine)) {
            assertFalse(server.post("/v1/chat/completions", STREAM).body().contains("prompt_progress"));
            String body = server.post(
                            "/v1/chat/completions",
                            STREAM.replace("{\"messages", "{\"return_progress\":true,\"messages"))
                    .body();
            assertTrue(
                    body.contains("\"prompt_progress\":{\"total\":100,\"cache\":20,\"processed\":60,\"time_ms\":12.5}"),
                    body);
        }
    }

    @Test
    void choicesStreamInterleaved() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content(0, "a");
            output.content(1, "b");
            output.finish(1, FinishReason.STOP);
            output.content(0, "c");
            output.finish(0, FinishReason.LENGTH);
        });
        try (TestServer server = TestServer.start(engine)) {
            String body = server.post(
                            "/v1/chat/completions", STREAM_WITH_USAGE.replace("{\"messages", "{\"n\":2,\"messages"))
                    .body();
            List<String> events = TestServer.events(body);
            assertEquals(7, events.size());
            assertTrue(
                    events.get(1).contains("{\"index\":1,\"delta\":{\"role\":\"assistant\",\"content\":\"b\"}"), body);
            // The prompt counts once, the answers each.
            assertTrue(events.get(5).contains("\"prompt_tokens\":11,\"completion_tokens\":10"), body);
        }
    }
}
