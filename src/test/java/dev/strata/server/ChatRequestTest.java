package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.api.ToolChoice;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a chat request becomes for the engine, and what is refused. */
final class ChatRequestTest {
    private static final String USER = "{\"role\":\"user\",\"content\":\"Hi\"}";
    private static final String TOOLS =
            "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}]";

    private static TestServer server;

    @BeforeAll
    static void start() throws Exception {
        server = TestServer.start(FakeInferenceService.hello());
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static GenerateRequest accepted(String body) throws Exception {
        HttpResponse<String> response = server.post("/v1/chat/completions", body);
        assertEquals(200, response.statusCode(), response.body());
        GenerateRequest request = server.engine.requests.poll(5, TimeUnit.SECONDS);
        assertNotNull(request);
        return request;
    }

    private static GenerateRequest with(String fields) throws Exception {
        return accepted("{\"messages\":[" + USER + "]," + fields + "}");
    }

    private static List<Message> messages(String messages) throws Exception {
        return ((Prompt.Chat) accepted("{\"messages\":[" + messages + "]}").prompt()).messages();
    }

    @Test
    void plainRequestLeavesEverythingToTheModel() throws Exception {
        GenerateRequest request =
                accepted("{\"model\":\"whatever\",\"messages\":[" + USER + "],\"unknown\":{\"a\":[1]}}");
        assertEquals(SamplingOptions.DEFAULTS, request.sampling());
        assertInstanceOf(OutputFormat.Text.class, request.format());
        assertNull(request.maxTokens());
        assertEquals(-1, request.topLogprobs());
        assertEquals(1, request.choices());
        assertEquals(List.of(), request.stop());
    }

    @Test
    void samplingFields() throws Exception {
        GenerateRequest request = with(
                "\"temperature\":0.5,\"top_k\":40,\"top_p\":0.9,\"min_p\":0.05,\"presence_penalty\":1,"
                        + "\"frequency_penalty\":-1,\"repetition_penalty\":1.1,\"penalty_last_n\":-1,\"seed\":42,"
                        + "\"logit_bias\":{\"15\":-100,\"7\":2.5},\"stop\":[\"a\",\"b\"],\"max_tokens\":5,\"ignore_eos\":true,\"return_progress\":true");
        assertEquals(
                new SamplingOptions(0.5f, 40, 0.9f, 0.05f, 1f, -1f, 1.1f, -1, 42L, Map.of(15, -100f, 7, 2.5f)),
                request.sampling());
        assertEquals(List.of("a", "b"), request.stop());
        assertEquals(5, request.maxTokens());
        assertTrue(request.ignoreEndToken());
        assertTrue(request.progress());
    }

    @Test
    void aliasesAndSpellings() throws Exception {
        assertEquals(7, with("\"max_completion_tokens\":7").maxTokens());
        assertEquals(7, with("\"max_completion_tokens\":7,\"max_tokens\":9").maxTokens());
        assertNull(with("\"max_tokens\":-1").maxTokens());
        assertNull(with("\"max_tokens\":0").maxTokens());
        assertEquals(5, with("\"max_tokens\":5.0").maxTokens());
        assertEquals(1.2f, with("\"repeat_penalty\":1.2").sampling().repetitionPenalty());
        assertEquals(List.of("x"), with("\"stop\":\"x\"").stop());
        assertEquals(
                Map.of(3, Float.NEGATIVE_INFINITY),
                with("\"logit_bias\":[[3,false]]").sampling().logitBias());
        assertNull(with("\"seed\":-1").sampling().seed());
        assertNull(with("\"temperature\":null").sampling().temperature());
        assertEquals(0, with("\"top_k\":-1").sampling().topK());
    }

    @Test
    void logprobs() throws Exception {
        assertEquals(0, with("\"logprobs\":true").topLogprobs());
        assertEquals(5, with("\"logprobs\":true,\"top_logprobs\":5").topLogprobs());
        assertEquals(-1, with("\"logprobs\":false,\"top_logprobs\":0").topLogprobs());
    }

    @Test
    void formats() throws Exception {
        assertInstanceOf(
                OutputFormat.JsonObject.class,
                with("\"response_format\":{\"type\":\"json_object\"}").format());
        assertEquals(
                new OutputFormat.JsonSchema("answer", "{\"type\":\"object\"}"),
                with("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"strict\":true,\"schema\":{\"type\":\"object\"}}}")
                        .format());
        assertEquals(
                new OutputFormat.JsonSchema("json_schema", "{\"type\":\"array\"}"),
                with("\"json_schema\":{\"type\":\"array\"}").format());
        assertEquals(
                new OutputFormat.Grammar("root ::= \"a\""),
                with("\"grammar\":\"root ::= \\\"a\\\"\"").format());
    }

    @Test
    void toolsAndChoices() throws Exception {
        Prompt.Chat chat = (Prompt.Chat) with(TOOLS).prompt();
        assertEquals("weather", chat.tools().getFirst().name());
        assertEquals("{\"type\":\"object\"}", chat.tools().getFirst().parametersSchema());
        assertEquals(
                "{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}",
                chat.tools().getFirst().json());
        assertTrue(chat.parallelToolCalls());
        assertInstanceOf(ToolChoice.Auto.class, chat.toolChoice());
        assertInstanceOf(ToolChoice.None.class, choice("\"none\""));
        assertInstanceOf(ToolChoice.Required.class, choice("\"required\""));
        assertEquals(
                new ToolChoice.Named("weather"), choice("{\"type\":\"function\",\"function\":{\"name\":\"weather\"}}"));
    }

    private static ToolChoice choice(String json) throws Exception {
        return ((Prompt.Chat) with(TOOLS + ",\"tool_choice\":" + json).prompt()).toolChoice();
    }

    @Test
    void reasoningReachesTheTemplate() throws Exception {
        assertEquals(
                Map.of("reasoning_effort", "low", "enable_thinking", true),
                ((Prompt.Chat) with("\"reasoning_effort\":\"low\"").prompt()).templateArguments());
        assertEquals(
                Map.of("reasoning_effort", "none", "enable_thinking", false),
                ((Prompt.Chat) with("\"reasoning\":{\"effort\":\"none\"}").prompt()).templateArguments());
        assertEquals(
                Map.of("enable_thinking", false, "n", 3, "list", List.of("a")),
                ((Prompt.Chat) with("\"chat_template_kwargs\":{\"enable_thinking\":false,\"n\":3,\"list\":[\"a\"]}")
                                .prompt())
                        .templateArguments());
    }

    @Test
    void rolesAndContents() throws Exception {
        assertEquals(
                List.of(Message.of("system", "a"), Message.of("system", "b"), Message.of("user", "one two")),
                messages(
                        "{\"role\":\"developer\",\"content\":\"a\"},{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},"
                                + "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one \"},{\"type\":\"text\",\"text\":\"two\"}]}"));
    }

    @Test
    void historyOfToolCalls() throws Exception {
        List<Message> messages = messages(USER
                + ",{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},"
                + "{\"id\":null,\"function\":{\"name\":\"g\",\"arguments\":{\"b\":2}}},{\"function\":{\"name\":\"h\",\"arguments\":\"{\\\"cut\"}}]}"
                + ",{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":[{\"type\":\"text\",\"text\":\"42\"}]}");
        Message assistant = messages.get(1);
        assertNull(assistant.content());
        assertEquals("hm", assistant.reasoning());
        assertEquals(
                new Message.ToolCall("c1", "f", "{\"a\":1}"),
                assistant.toolCalls().get(0));
        assertEquals("{\"b\":2}", assistant.toolCalls().get(1).arguments());
        assertTrue(assistant.toolCalls().get(1).id().startsWith("call_"));
        assertEquals("{\"raw\":\"{\\\"cut\"}", assistant.toolCalls().get(2).arguments());
        assertEquals(new Message("tool", "42", null, List.of(), "c1", null), messages.get(2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{} | messages",
                "{\"messages\":[]} | messages",
                "{\"messages\":\"x\"} | messages",
                "{\"messages\":[{\"role\":\"robot\",\"content\":\"x\"}]} | messages[0].role",
                "{\"messages\":[{\"role\":\"user\"}]} | messages[0].content",
                "{\"messages\":[{\"role\":\"user\",\"content\":5}]} | messages[0].content",
                "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}]} | messages[0].content[0].type",
                "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{}]}]} | messages[0].tool_calls[0].function",
                "{M,\"max_tokens\":\"5\"} | max_tokens",
                "{M,\"max_tokens\":1.5} | max_tokens",
                "{M,\"temperature\":\"hot\"} | temperature",
                "{M,\"temperature\":-1} | temperature",
                "{M,\"top_p\":1.5} | top_p",
                "{M,\"stream\":\"yes\"} | stream",
                "{M,\"stream_options\":[]} | stream_options",
                "{M,\"n\":0} | n",
                "{M,\"n\":9} | n",
                "{M,\"stop\":[1]} | stop[0]",
                "{M,\"stop\":\"\"} | stop",
                "{M,\"seed\":\"x\"} | seed",
                "{M,\"seed\":1e30} | seed",
                "{M,\"logit_bias\":{\"a\":1}} | logit_bias",
                "{M,\"top_logprobs\":3} | top_logprobs",
                "{M,\"logprobs\":true,\"top_logprobs\":21} | top_logprobs",
                "{M,\"tools\":{}} | tools",
                "{M,\"tools\":[{\"type\":\"web\"}]} | tools[0].type",
                "{M,\"tools\":[{\"type\":\"function\",\"function\":{}}]} | tools[0].function.name",
                "{M,\"tool_choice\":\"required\"} | tool_choice",
                "{M,\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"none\"}}} | tool_choice.function.name",
                "{M,\"functions\":[{}]} | functions",
                "{M,\"response_format\":{\"type\":\"xml\"}} | response_format.type",
                "{M,\"response_format\":{\"type\":\"json_schema\"}} | response_format.json_schema",
                "{M,\"grammar\":\"x\",\"json_schema\":{}} | json_schema",
                "{M,\"reasoning_effort\":\"extreme\"} | reasoning_effort",
                "{M,\"chat_template_kwargs\":[]} | chat_template_kwargs",
            })
    void wrongTypesNameTheirField(String body, String parameter) {
        HttpResponse<String> response =
                server.post("/v1/chat/completions", body.replace("{M", "{\"messages\":[" + USER + "]"));
        assertEquals(400, response.statusCode(), response.body());
        JsonNode error = TestServer.json(response).get("error");
        assertEquals(parameter, error.get("param").asText(), response.body());
        assertEquals("invalid_request_error", error.get("type").asText());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {"``", "[]", "{", "{\"a\":1} x", "\"text\"", "nul"})
    void whatIsNoJsonObjectIsRefused(String body) {
        HttpResponse<String> response = server.post("/v1/chat/completions", body);
        assertEquals(400, response.statusCode(), response.body());
        assertEquals("invalid_json", TestServer.json(response).at("/error/code").asText());
    }

    @Test
    void wholeAnswer() throws Exception {
        server.engine.script(output -> {
            output.reasoning("thinking");
            output.content("text");
            output.call(0, "call_1", "weather", "{\"a\"", ":1}");
            output.finish(FinishReason.TOOL_CALLS);
        });
        try {
            JsonNode answer = TestServer.json(server.post("/v1/chat/completions", "{\"messages\":[" + USER + "]}"));
            assertEquals("chat.completion", answer.get("object").asText());
            assertEquals(
                    "{\"role\":\"assistant\",\"content\":\"text\",\"reasoning_content\":\"thinking\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"a\\\":1}\"}}]}",
                    answer.at("/choices/0/message").toString());
            assertEquals("tool_calls", answer.at("/choices/0/finish_reason").asText());
            assertEquals(
                    3, answer.at("/usage/prompt_tokens_details/cached_tokens").asInt());
            assertEquals(
                    2,
                    answer.at("/usage/completion_tokens_details/reasoning_tokens")
                            .asInt());
            assertEquals(100.0, answer.at("/timings/predicted_per_second").asDouble());
        } finally {
            server.engine.script(output -> output.finish(FinishReason.STOP));
            server.engine.requests.clear();
        }
    }

    @Test
    void logprobShapes() throws Exception {
        byte[] half = {(byte) 0xe2, (byte) 0x82};
        server.engine.script(output -> {
            output.content(
                    "ab",
                    FakeInferenceService.token(1, "a", -0.5f, FakeInferenceService.token(2, "c", -1.5f)),
                    new dev.strata.api.TokenLogprob(3, "b", half, -0.25f, List.of()));
            output.finish(FinishReason.STOP);
        });
        try {
            JsonNode chat = TestServer.json(server.post(
                    "/v1/chat/completions", "{\"messages\":[" + USER + "],\"logprobs\":true,\"top_logprobs\":1}"));
            assertEquals(
                    "{\"content\":[{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97],\"top_logprobs\":[{\"token\":\"c\",\"logprob\":-1.5,\"bytes\":[99]}]},"
                            + "{\"token\":\"b\",\"logprob\":-0.25,\"bytes\":[226,130],\"top_logprobs\":[]}],\"refusal\":null}",
                    chat.at("/choices/0/logprobs").toString());
            JsonNode legacy = TestServer.json(server.post("/v1/completions", "{\"prompt\":\"x\",\"logprobs\":1}"));
            assertEquals(
                    "{\"tokens\":[\"a\",\"bytes:\\\\xe2\\\\x82\"],\"token_logprobs\":[-0.5,-0.25],\"top_logprobs\":[{\"c\":-1.5},null],\"text_offset\":[0,1]}",
                    legacy.at("/choices/0/logprobs").toString());
        } finally {
            server.engine.script(output -> output.finish(FinishReason.STOP));
            server.engine.requests.clear();
        }
    }
}
