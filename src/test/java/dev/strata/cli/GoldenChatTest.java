package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.engine.Backends;
import dev.strata.format.Shared;
import dev.strata.server.ServerOptions;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The golden conversations of the model that comes with Strata, asked over HTTP. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GoldenChatTest {
    /** Where the best two logits are nearer than this, rounding may choose. */
    private static final double LEAST_GAP = 0.3;

    private static final String END = "<|im_end|>";
    private final ObjectMapper json = new ObjectMapper();
    private final HttpClient client = HttpClient.newHttpClient();

    @TempDir
    static Path folder = Path.of("");

    private Path path = Path.of("");
    private EngineOptions options = EngineOptions.DEFAULTS;
    private JsonNode conversations = json.createArrayNode();
    private Serving serving;

    @BeforeAll
    void start() throws IOException {
        Path own = Path.of("models/strata-tiny");
        path = Files.isDirectory(own) ? ModelPath.resolve(own) : Shared.require("models/strata-tiny");
        try (InputStream in = Objects.requireNonNull(getClass().getResourceAsStream("strata-tiny-golden-chat.json"))) {
            conversations = json.readTree(in);
        }
        options = new EngineOptions(
                BackendChoice.AUTO,
                2,
                KvFormat.F16,
                1024,
                2,
                128,
                16,
                8,
                2048,
                -1,
                EngineOptions.Speculation.DEFAULTS,
                false);
        serving = start(path, options);
    }

    @AfterAll
    void stop() {
        if (serving != null) {
            serving.close();
        }
        client.close();
    }

    private JsonNode post(String path, ObjectNode body) throws IOException, InterruptedException {
        HttpResponse<String> response = send(path, body);
        assertEquals(200, response.statusCode(), response.body());
        return json.readTree(response.body());
    }

    private HttpResponse<String> send(String path, ObjectNode body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(serving.server().address() + path))
                .header("content-type", "application/json")
                .timeout(Duration.ofSeconds(60))
                .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private ObjectNode chat(JsonNode conversation) {
        ObjectNode body = json.createObjectNode();
        body.set("messages", conversation.get("messages"));
        if (conversation.has("tools")) {
            body.set("tools", conversation.get("tools"));
        }
        if (conversation.has("enable_thinking")) {
            body.putObject("chat_template_kwargs").set("enable_thinking", conversation.get("enable_thinking"));
        }
        return body;
    }

    private Serving start(Path model, EngineOptions engine) throws IOException {
        return Serving.start(
                new Options(model, List.of("tiny"), engine, Variables.defaults()).withSlotFolder(folder),
                ServerOptions.of("127.0.0.1", 0),
                Duration.ofSeconds(5));
    }

    @Test
    void aConversationGoesOnInAnotherProcess() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode().put("temperature", 0).put("max_tokens", 20);
        body.putArray("messages").addObject().put("role", "user").put("content", "What is a river? ".repeat(30));
        JsonNode first = post("/v1/chat/completions", body);
        ObjectNode file = json.createObjectNode().put("filename", "talk.bin");
        JsonNode saved = post("/slots/0?action=save", file);
        assertTrue(saved.get("n_saved").asInt() > 10, saved.toString());
        Serving other = start(path, options);
        Serving own = serving;
        try {
            serving = other;
            assertEquals(
                    saved.get("n_saved"), post("/slots/0?action=restore", file).get("n_restored"));
            JsonNode again = post("/v1/chat/completions", body);
            assertEquals(first.at("/choices/0/message/content"), again.at("/choices/0/message/content"));
            int cached = again.at("/usage/prompt_tokens_details/cached_tokens").asInt();
            assertTrue(cached > 0 && cached < again.at("/usage/prompt_tokens").asInt(), again.toString());
            Files.write(folder.resolve("wrong.bin"), new byte[500]);
            HttpResponse<String> refused = send("/slots/0?action=restore", file.put("filename", "wrong.bin"));
            assertEquals(400, refused.statusCode());
            assertTrue(refused.body().contains("does not begin with STRATASL"), refused.body());
        } finally {
            serving = own;
            other.close();
        }
    }

    @Test
    void cachedTokensAreToldOnEveryEndpoint() throws IOException, InterruptedException {
        String text = "A lake is a body of water. ".repeat(40);
        ObjectNode chat = json.createObjectNode().put("max_tokens", 2);
        chat.putArray("messages").addObject().put("role", "user").put("content", text);
        ObjectNode responses =
                json.createObjectNode().put("max_output_tokens", 2).put("input", text + "1");
        ObjectNode completion = json.createObjectNode().put("max_tokens", 2).put("prompt", text + "2");
        ObjectNode messages = chat.deepCopy();
        messages.withArray("messages")
                .removeAll()
                .addObject()
                .put("role", "user")
                .put("content", text + "3");
        assertReused("/v1/chat/completions", chat, "/usage/prompt_tokens_details/cached_tokens");
        assertReused("/v1/responses", responses, "/usage/input_tokens_details/cached_tokens");
        assertReused("/v1/completions", completion, "/usage/prompt_tokens_details/cached_tokens");
        assertReused("/v1/messages", messages, "/usage/cache_read_input_tokens");
    }

    private void assertReused(String path, ObjectNode body, String pointer) throws IOException, InterruptedException {
        JsonNode first = post(path, body);
        JsonNode again = post(path, body);
        assertTrue(again.at(pointer).asInt() > 250, path + ": " + again.get("usage") + " after " + first.get("usage"));
    }

    @Test
    void theStatusTellsOfTiersMemoryAndSlots() throws IOException, InterruptedException {
        JsonNode before = status();
        JsonNode ignored = post("/v1/chat/completions", chat(conversations.get(0)));
        assertTrue(ignored.has("choices"));
        JsonNode engine = status();
        String tier = engine.get("tiers").fieldNames().next();
        assertTrue(
                engine.at("/tiers/" + tier + "/lookups").asLong()
                        > before.at("/tiers/" + tier + "/lookups").asLong(),
                engine.toString());
        long total = engine.at("/memory/ram/total_bytes").asLong();
        assertTrue(total > 1L << 30, engine.toString());
        JsonNode holder = engine.get("memory").get(engine.get("memory").has("vram") ? "vram" : "ram");
        for (String part : List.of("sequences_bytes", "prefix_cache_bytes")) {
            assertTrue(holder.get(part).asLong() > 0 && holder.get(part).asLong() < total, part + " in " + holder);
        }
        assertEquals(2, engine.get("slots").size());
        assertEquals(
                Backends.instructionSet(Variables.defaults()),
                engine.get("cpu_isa").asText());
        HttpResponse<String> slots = client.send(
                HttpRequest.newBuilder(URI.create(serving.server().address() + "/slots"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertTrue(json.readTree(slots.body()).get(0).get("n_tokens").asInt() > 0, slots.body());
    }

    private JsonNode status() throws IOException, InterruptedException {
        HttpResponse<String> response = client.send(
                HttpRequest.newBuilder(URI.create(serving.server().address() + "/v1/status"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return json.readTree(response.body()).get("engine");
    }

    @Test
    void messagesNameTheStopSequence() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.put("max_tokens", 64).put("temperature", 0);
        body.putArray("stop_sequences").add("never said").add("natural");
        body.putArray("messages").addObject().put("role", "user").put("content", "What is a river?");
        JsonNode answer = post("/v1/messages", body);
        assertEquals("stop_sequence", answer.at("/stop_reason").asText());
        assertEquals("natural", answer.at("/stop_sequence").asText());
        assertTrue(answer.at("/content/0/text").asText().endsWith("a large "), answer.toString());
    }

    @Test
    void chatAnswersAreTheGoldenOnes() throws IOException, InterruptedException {
        int compared = 0;
        for (JsonNode conversation : conversations) {
            JsonNode answer = post("/v1/chat/completions", chat(conversation));
            assertEquals(
                    conversation.get("prompt_ids").size(),
                    answer.at("/usage/prompt_tokens").asInt());
            if (conversation.get("min_top2_gap").asDouble() < LEAST_GAP) {
                continue;
            }
            compared++;
            JsonNode message = answer.at("/choices/0/message");
            String golden = conversation.get("text").asText().replace(END, "");
            String visible = golden.substring(golden.indexOf("</think>") + "</think>".length())
                    .strip();
            if (visible.startsWith("<tool_call>")) {
                assertEquals("tool_calls", answer.at("/choices/0/finish_reason").asText());
                JsonNode call =
                        json.readTree(visible.substring("<tool_call>".length(), visible.indexOf("</tool_call>")));
                assertEquals(call.get("name"), message.at("/tool_calls/0/function/name"));
                assertEquals(
                        call.get("arguments"),
                        json.readTree(
                                message.at("/tool_calls/0/function/arguments").asText()));
            } else {
                assertEquals(visible, message.get("content").asText());
                assertEquals("stop", answer.at("/choices/0/finish_reason").asText());
                assertEquals(
                        conversation.get("greedy_ids").size(),
                        answer.at("/usage/completion_tokens").asInt());
            }
        }
        assertTrue(compared >= 12, "only " + compared + " conversations were compared");
    }

    @Test
    void completionsOfTheGoldenTokensAreTheGoldenText() throws IOException, InterruptedException {
        for (JsonNode conversation : conversations) {
            if (conversation.get("min_top2_gap").asDouble() < LEAST_GAP) {
                continue;
            }
            ObjectNode body = json.createObjectNode();
            body.set("prompt", conversation.get("prompt_ids"));
            body.put("max_tokens", 64);
            JsonNode answer = post("/v1/completions", body);
            assertEquals(
                    conversation.get("text").asText().replace(END, ""),
                    answer.at("/choices/0/text").asText());
        }
    }

    @Test
    void theSecondTurnReusesTheFirst() throws IOException, InterruptedException {
        String story = "Please remember that my name is Olga and that I live in a house by the sea. ".repeat(6);
        ObjectNode first = json.createObjectNode();
        ArrayNode messages = first.putArray("messages");
        messages.addObject().put("role", "user").put("content", story);
        JsonNode answer = post("/v1/chat/completions", first.put("max_tokens", 12));
        messages.addObject()
                .put("role", "assistant")
                .put("content", answer.at("/choices/0/message/content").asText());
        messages.addObject().put("role", "user").put("content", "What is my name?");
        JsonNode second = post("/v1/chat/completions", first);
        int cached = second.at("/usage/prompt_tokens_details/cached_tokens").asInt();
        assertTrue(
                cached >= answer.at("/usage/prompt_tokens").asInt() - 4,
                cached + " of " + answer.at("/usage/prompt_tokens").asInt() + " tokens were reused");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void sampledTextFollowsTheSeed(boolean stream) throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.put("prompt", "The sea is")
                .put("max_tokens", 24)
                .put("temperature", 1.0)
                .put("stream", stream);
        String one = send("/v1/completions", body.put("seed", 7)).body();
        String two = send("/v1/completions", body.put("seed", 7)).body();
        String other = send("/v1/completions", body.put("seed", 8)).body();
        assertEquals(texts(one, stream), texts(two, stream));
        assertTrue(!texts(one, stream).equals(texts(other, stream)));
    }

    private String texts(String body, boolean stream) throws IOException {
        if (!stream) {
            return json.readTree(body).at("/choices/0/text").asText();
        }
        StringBuilder text = new StringBuilder();
        for (String line : body.split("\n", -1)) {
            if (line.startsWith("data: {")) {
                text.append(
                        json.readTree(line.substring(6)).at("/choices/0/text").asText());
            }
        }
        assertTrue(body.contains("data: [DONE]"));
        return text.toString();
    }

    @Test
    void severalChoicesComeBackTogether() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.put("n", 3).put("temperature", 1.0).put("seed", 1).put("max_tokens", 16);
        body.putArray("messages").addObject().put("role", "user").put("content", "Tell me a word.");
        JsonNode answer = post("/v1/chat/completions", body);
        assertEquals(3, answer.get("choices").size());
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 1})
    void answersKeepToASchemaWithDraftsOn(double temperature) throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.put("temperature", temperature).put("seed", 3).put("max_tokens", 200);
        body.putArray("messages").addObject().put("role", "user").put("content", "Anna is 31 years old. Give me that.");
        body.set("response_format", json.readTree("""
                {"type": "json_schema", "json_schema": {"name": "person", "schema": {
                  "type": "object", "additionalProperties": false, "required": ["name", "age"],
                  "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}}}}
                """));
        JsonNode answer = post("/v1/chat/completions", body);
        JsonNode person = json.readTree(answer.at("/choices/0/message/content").asText());
        assertTrue(person.get("name").isTextual(), person.toString());
        assertTrue(person.get("age").isInt(), person.toString());
        assertEquals("stop", answer.at("/choices/0/finish_reason").asText());
    }

    @Test
    void aToolCallCanBeForced() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.putArray("messages").addObject().put("role", "user").put("content", "Hi");
        body.set("tools", json.readTree("""
                [{"type": "function", "function": {"name": "get_time", "description": "The time.", "parameters":
                  {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]}}}]
                """));
        body.put("tool_choice", "required").put("max_tokens", 200);
        JsonNode answer = post("/v1/chat/completions", body);
        assertEquals("tool_calls", answer.at("/choices/0/finish_reason").asText());
        assertEquals(
                "get_time",
                answer.at("/choices/0/message/tool_calls/0/function/name").asText());
    }

    @Test
    void aPromptThatDoesNotFitNamesBothNumbers() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.putArray("messages").addObject().put("role", "user").put("content", "sea ".repeat(3000));
        HttpResponse<String> response = send("/v1/chat/completions", body);
        assertEquals(400, response.statusCode());
        JsonNode error = json.readTree(response.body()).get("error");
        assertEquals("context_length_exceeded", error.get("code").asText());
        assertTrue(error.get("message").asText().contains("the context holds 1024"), error.toString());
    }

    @Test
    void embeddingsHaveLengthOne() throws IOException, InterruptedException {
        ObjectNode body = json.createObjectNode();
        body.putArray("input").add("the sea").add("a river");
        JsonNode answer = post("/v1/embeddings", body);
        assertEquals(2, answer.get("data").size());
        double square = 0;
        for (JsonNode value : answer.at("/data/0/embedding")) {
            square += value.asDouble() * value.asDouble();
        }
        assertEquals(1, square, 1e-3);
    }
}
