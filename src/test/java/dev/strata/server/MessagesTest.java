package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.api.ToolChoice;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The Anthropic dialect. */
final class MessagesTest {
    private static final String BODY =
            "{\"model\":\"m\",\"max_tokens\":50,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]";

    private static final FakeInferenceService.Script FULL = output -> {
        output.reasoning("hm");
        output.content("Hello");
        output.call(0, "toolu_1", "f", "{\"a\"", ":1}");
        output.finish(FinishReason.TOOL_CALLS);
    };

    private static Prompt.Chat chat(FakeInferenceService engine) throws InterruptedException {
        GenerateRequest request = engine.requests.poll(5, TimeUnit.SECONDS);
        assertNotNull(request);
        return (Prompt.Chat) request.prompt();
    }

    @Test
    void eventListIsExact() throws Exception {
        try (TestServer server = TestServer.start(new FakeInferenceService(FULL))) {
            String body = server.post("/v1/messages?beta=true", BODY + ",\"stream\":true}")
                    .body()
                    .replaceAll("msg_[A-Za-z0-9]{24}", "ID");
            String expected = """
                    event: message_start
                    data: {"type":"message_start","message":{"id":"ID","type":"message","role":"assistant","model":"strata-tiny","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}

                    event: ping
                    data: {"type":"ping"}

                    : accepted

                    event: content_block_start
                    data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

                    event: content_block_delta
                    data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

                    event: content_block_delta
                    data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":""}}

                    event: content_block_stop
                    data: {"type":"content_block_stop","index":0}

                    event: content_block_start
                    data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

                    event: content_block_delta
                    data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}

                    event: content_block_stop
                    data: {"type":"content_block_stop","index":1}

                    event: content_block_start
                    data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}

                    event: content_block_delta
                    data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\""}}

                    event: content_block_delta
                    data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}

                    event: content_block_stop
                    data: {"type":"content_block_stop","index":2}

                    event: message_delta
                    data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":5}}

                    event: message_stop
                    data: {"type":"message_stop"}

                    """;
            assertEquals(expected, body);
        }
    }

    @Test
    void wholeMessage() throws Exception {
        try (TestServer server = TestServer.start(new FakeInferenceService(FULL))) {
            HttpResponse<String> response = server.post("/v1/messages", BODY + "}");
            assertTrue(response.headers().firstValue("request-id").isPresent());
            JsonNode message = TestServer.json(response);
            assertEquals(
                    "[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"},{\"type\":\"text\",\"text\":\"Hello\"},"
                            + "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{\"a\":1}}]",
                    message.get("content").toString());
            assertEquals("tool_use", message.get("stop_reason").asText());
        }
    }

    @Test
    void stopReasons() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            assertEquals(
                    "end_turn",
                    TestServer.json(server.post("/v1/messages", BODY + "}"))
                            .get("stop_reason")
                            .asText());
            engine.script(output -> output.finish(FinishReason.LENGTH));
            assertEquals(
                    "max_tokens",
                    TestServer.json(server.post("/v1/messages", BODY + "}"))
                            .get("stop_reason")
                            .asText());
            engine.script(output -> output.send(new Delta.Finished(
                    0, FinishReason.STOP, FakeInferenceService.USAGE, FakeInferenceService.TIMINGS, "END")));
            JsonNode stopped = TestServer.json(server.post("/v1/messages", BODY + ",\"stop_sequences\":[\"END\"]}"));
            assertEquals("stop_sequence", stopped.get("stop_reason").asText());
            assertEquals("END", stopped.get("stop_sequence").asText());
        }
    }

    @Test
    void blocksBecomeTurns() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            HttpResponse<String> response = server.post(
                    "/v1/messages",
                    "{\"max_tokens\":9,\"system\":[{\"type\":\"text\",\"text\":\"x-anthropic-billing-header: cc_version=1; cch=abc;\"},"
                            + "{\"type\":\"text\",\"text\":\"S1\",\"cache_control\":{\"type\":\"ephemeral\"}},{\"type\":\"text\",\"text\":\"S2\"}],"
                            + "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]},"
                            + "{\"role\":\"system\",\"content\":\"late\"},"
                            + "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"T\",\"signature\":\"\"},{\"type\":\"text\",\"text\":\"c\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{\"x\":1}}]},"
                            + "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"text\",\"text\":\"r1\"}]},"
                            + "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":\"r2\",\"is_error\":true},{\"type\":\"tool_result\",\"tool_use_id\":\"t3\"},{\"type\":\"text\",\"text\":\"d\"}]}]}");
            assertEquals(200, response.statusCode(), response.body());
            assertEquals(
                    List.of(
                            Message.of("system", "S1\n\nS2"),
                            Message.of("user", "a\nb"),
                            Message.of("system", "late"),
                            new Message(
                                    "assistant",
                                    "c",
                                    "T",
                                    List.of(new Message.ToolCall("t1", "f", "{\"x\":1}")),
                                    null,
                                    null),
                            new Message("tool", "r1", null, List.of(), "t1", null),
                            new Message("tool", "r2", null, List.of(), "t2", null),
                            new Message("tool", "", null, List.of(), "t3", null),
                            Message.of("user", "d")),
                    chat(engine).messages());
        }
    }

    @Test
    void toolsAndThinking() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            server.post(
                    "/v1/messages",
                    BODY
                            + ",\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}},{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}],"
                            + "\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true},\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1000}}");
            Prompt.Chat chat = chat(engine);
            assertEquals(1, chat.tools().size());
            assertEquals("{\"type\":\"object\"}", chat.tools().getFirst().parametersSchema());
            assertEquals(new ToolChoice.Required(), chat.toolChoice());
            assertEquals(false, chat.parallelToolCalls());
            assertEquals(Map.of("enable_thinking", true, "thinking_budget", 1000), chat.templateArguments());
            server.post("/v1/messages", BODY + "}");
            assertEquals(Map.of("enable_thinking", false), chat(engine).templateArguments());
            assertEquals(
                    400,
                    server.post("/v1/messages", BODY + ",\"thinking\":{\"type\":\"maybe\"}}")
                            .statusCode());
        }
    }

    @Test
    void errorsHaveTheirShape() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            HttpResponse<String> bad = server.post("/v1/messages", "{\"max_tokens\":5}");
            assertEquals(400, bad.statusCode());
            JsonNode body = TestServer.json(bad);
            assertEquals("error", body.get("type").asText());
            assertEquals("invalid_request_error", body.at("/error/type").asText());
            assertTrue(body.at("/error/message").asText().contains("messages"));
            assertEquals(
                    bad.headers().firstValue("x-request-id").orElseThrow(),
                    body.get("request_id").asText());
            engine.refusal = new ApiError(ApiError.Kind.BUSY, "queue_full", "full", null);
            assertEquals(
                    "rate_limit_error",
                    TestServer.json(server.post("/v1/messages", BODY + "}"))
                            .at("/error/type")
                            .asText());
            engine.refusal = null;
            engine.script(output -> output.fail(new ApiError(ApiError.Kind.INTERNAL, "x", "broke", null)));
            String stream =
                    server.post("/v1/messages", BODY + ",\"stream\":true}").body();
            assertTrue(
                    stream.contains(
                            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"broke\"}"),
                    stream);
        }
    }

    @Test
    void tokensAreCounted() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            assertEquals(
                    "{\"input_tokens\":8}",
                    server.post("/v1/messages/count_tokens", BODY + "}").body());
        }
    }

    @Test
    void brokenArgumentsOfACutCallAreKept() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.call(0, "t", "f", "{\"a\":");
            output.finish(FinishReason.LENGTH);
        });
        try (TestServer server = TestServer.start(engine)) {
            JsonNode message = TestServer.json(server.post("/v1/messages", BODY + "}"));
            assertEquals("max_tokens", message.get("stop_reason").asText());
            assertEquals(
                    "{\"raw\":\"{\\\"a\\\":\"}", message.at("/content/0/input").toString());
        }
    }
}
