package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.ToolChoice;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The Responses API. */
final class ResponsesTest {
    private static final FakeInferenceService.Script FULL = output -> {
        output.reasoning("hm");
        output.content("Hel");
        output.content("lo");
        output.call(0, "call_1", "f", "{\"a\"", ":1}");
        output.finish(FinishReason.TOOL_CALLS);
    };

    private static GenerateRequest request(FakeInferenceService engine) throws InterruptedException {
        GenerateRequest request = engine.requests.poll(5, TimeUnit.SECONDS);
        assertNotNull(request);
        return request;
    }

    @Test
    void wholeResponse() throws Exception {
        try (TestServer server = TestServer.start(new FakeInferenceService(FULL))) {
            JsonNode response =
                    TestServer.json(server.post("/v1/responses", "{\"input\":\"Hi\",\"instructions\":\"Be brief\"}"));
            assertEquals("response", response.get("object").asText());
            assertEquals("completed", response.get("status").asText());
            assertEquals("Be brief", response.get("instructions").asText());
            List<String> types = new ArrayList<>();
            response.get("output").forEach(item -> types.add(item.get("type").asText()));
            assertEquals(List.of("reasoning", "message", "function_call"), types);
            assertEquals("hm", response.at("/output/0/content/0/text").asText());
            assertEquals("Hello", response.at("/output/1/content/0/text").asText());
            assertEquals("{\"a\":1}", response.at("/output/2/arguments").asText());
            assertEquals("call_1", response.at("/output/2/call_id").asText());
            assertEquals(
                    "{\"input_tokens\":11,\"input_tokens_details\":{\"cached_tokens\":3,\"cache_write_tokens\":0},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":16}",
                    response.get("usage").toString());
        }
    }

    @Test
    void eventsInOrder() throws Exception {
        try (TestServer server = TestServer.start(new FakeInferenceService(FULL))) {
            List<String> events = TestServer.events(server.post("/v1/responses", "{\"input\":\"Hi\",\"stream\":true}")
                    .body());
            List<String> types = new ArrayList<>();
            Map<String, String> texts = new HashMap<>();
            for (int i = 0; i < events.size(); i++) {
                String[] lines = events.get(i).split("\n");
                JsonNode data = TestServer.json(lines[1].substring("data: ".length()));
                assertEquals(lines[0], "event: " + data.get("type").asText());
                assertEquals(i, data.get("sequence_number").asInt());
                if (data.has("delta")) {
                    texts.merge(data.get("item_id").asText(), data.get("delta").asText(), String::concat);
                    assertEquals(lines[0].contains("output_text"), data.has("logprobs"));
                    assertEquals(!lines[0].contains("arguments"), data.has("content_index"));
                }
                types.add(data.get("type").asText().substring("response.".length()));
            }
            assertEquals(
                    List.of(
                            "created",
                            "in_progress",
                            "output_item.added",
                            "content_part.added",
                            "reasoning_text.delta",
                            "reasoning_text.done",
                            "content_part.done",
                            "output_item.done",
                            "output_item.added",
                            "content_part.added",
                            "output_text.delta",
                            "output_text.delta",
                            "output_text.done",
                            "content_part.done",
                            "output_item.done",
                            "output_item.added",
                            "function_call_arguments.delta",
                            "function_call_arguments.delta",
                            "function_call_arguments.done",
                            "output_item.done",
                            "completed"),
                    types);
            JsonNode last = TestServer.json(events.getLast().split("\n")[1].substring(6))
                    .get("response");
            assertEquals(3, last.get("output").size());
            assertEquals("Hello", last.at("/output/1/content/0/text").asText());
            for (String text : List.of("/output/0/content/0/text", "/output/1/content/0/text", "/output/2/arguments")) {
                JsonNode item = last.at(text.substring(0, "/output/0".length()));
                assertEquals(last.at(text).asText(), texts.get(item.get("id").asText()));
            }
        }
    }

    @Test
    void endsOfStreams() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("x");
            output.finish(FinishReason.LENGTH);
        });
        try (TestServer server = TestServer.start(engine)) {
            JsonNode cut = TestServer.json(server.post("/v1/responses", "{\"input\":\"Hi\"}"));
            assertEquals("incomplete", cut.get("status").asText());
            assertEquals(
                    "max_output_tokens", cut.at("/incomplete_details/reason").asText());
            engine.script(output -> output.fail(new ApiError(ApiError.Kind.INTERNAL, "broken", "It broke", null)));
            String failed = server.post("/v1/responses", "{\"input\":\"Hi\",\"stream\":true}")
                    .body();
            assertTrue(failed.contains("event: response.failed\n"), failed);
            assertTrue(failed.contains("\"error\":{\"code\":\"broken\",\"message\":\"It broke\"}"), failed);
            assertEquals(500, server.post("/v1/responses", "{\"input\":\"Hi\"}").statusCode());
        }
    }

    @Test
    void itemsBecomeTurns() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            HttpResponse<String> response = server.post(
                    "/v1/responses",
                    "{\"instructions\":\"I\",\"input\":[{\"role\":\"developer\",\"content\":\"D\"},"
                            + "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"U\"}]},"
                            + "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"R\"}]},"
                            + "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"A\"}]},"
                            + "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"},"
                            + "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"g\",\"arguments\":\"{}\"},"
                            + "{\"type\":\"web_search_call\",\"id\":\"ws\"},"
                            + "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"one\"},"
                            + "{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":[{\"type\":\"input_text\",\"text\":\"two\"}]},"
                            + "{\"role\":\"user\",\"content\":\"V\"}]}");
            assertEquals(200, response.statusCode(), response.body());
            List<Message> messages = ((Prompt.Chat) request(engine).prompt()).messages();
            assertEquals(
                    List.of(
                            Message.of("system", "I"),
                            Message.of("system", "D"),
                            Message.of("user", "U"),
                            new Message(
                                    "assistant",
                                    "A",
                                    "R",
                                    List.of(
                                            new Message.ToolCall("c1", "f", "{}"),
                                            new Message.ToolCall("c2", "g", "{}")),
                                    null,
                                    null),
                            new Message("tool", "one", null, List.of(), "c1", null),
                            new Message("tool", "two", null, List.of(), "c2", null),
                            Message.of("user", "V")),
                    messages);
        }
    }

    @Test
    void foreignToolsAreSkipped() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            HttpResponse<String> response = server.post(
                    "/v1/responses",
                    "{\"input\":\"Hi\",\"tools\":[{\"type\":\"web_search\"},{\"type\":\"namespace\",\"name\":\"x\"},{\"type\":\"custom\",\"name\":\"apply_patch\"},"
                            + "{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}],\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},"
                            + "\"reasoning\":{\"effort\":\"high\",\"summary\":\"auto\"},\"max_output_tokens\":9,\"parallel_tool_calls\":false,"
                            + "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"schema\":{\"type\":\"object\"}}}}");
            assertEquals(200, response.statusCode(), response.body());
            GenerateRequest request = request(engine);
            Prompt.Chat chat = (Prompt.Chat) request.prompt();
            assertEquals(1, chat.tools().size());
            assertEquals(
                    "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"\",\"parameters\":{\"type\":\"object\"}}}",
                    chat.tools().getFirst().json());
            assertEquals(new ToolChoice.Named("f"), chat.toolChoice());
            assertEquals("high", chat.templateArguments().get("reasoning_effort"));
            assertEquals(9, request.maxTokens());
            assertInstanceOf(OutputFormat.JsonSchema.class, request.format());
        }
    }

    @Test
    void storedThingsAreRefused() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            for (String field :
                    List.of("\"previous_response_id\":\"resp_1\"", "\"background\":true", "\"conversation\":\"c\"")) {
                assertEquals(
                        400,
                        server.post("/v1/responses", "{\"input\":\"Hi\"," + field + "}")
                                .statusCode(),
                        field);
            }
            assertEquals(
                    200,
                    server.post("/v1/responses", "{\"input\":\"Hi\",\"store\":true}")
                            .statusCode());
        }
    }
}
