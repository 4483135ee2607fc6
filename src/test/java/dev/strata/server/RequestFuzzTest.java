package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.JsonBender;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Requests bent at random: every one gets a clean answer, none a 500, and the server lives on. {@code -Dstrata.fuzz.seconds=600} runs the long form;
 * {@code -Dstrata.fuzz.seed} repeats a run.
 */
final class RequestFuzzTest {
    private static final long SECONDS = Long.getLong("strata.fuzz.seconds", 4);
    private static final long SEED = Long.getLong("strata.fuzz.seed", 20260101);

    private static final Map<String, String> SAMPLES = Map.of(
            "/v1/chat/completions",
            """
            {"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"t"}]},
            {"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"x"}],"temperature":0.5,"top_k":3,"n":2,"stop":["a"],"stream":true,
            "stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":2,"logit_bias":{"3":1},"seed":4,"max_tokens":5,
            "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":{"type":"function","function":{"name":"f"}},
            "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},"chat_template_kwargs":{"a":[1]},"reasoning_effort":"low"}""",
            "/v1/completions",
            """
            {"prompt":["a",[1,2]],"max_tokens":3,"logprobs":1,"echo":true,"n":2,"stream":false,"best_of":2,"stop":"x"}""",
            "/v1/responses",
            """
            {"input":[{"role":"user","content":[{"type":"input_text","text":"t"}]},{"type":"reasoning","summary":[{"text":"x"}]},
            {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}],
            "tools":[{"type":"function","name":"f","parameters":{}},{"type":"web_search"}],"tool_choice":"auto","text":{"format":{"type":"text"}},
            "reasoning":{"effort":"low"},"max_output_tokens":5,"include":["message.output_text.logprobs"],"stream":true}""",
            "/v1/messages",
            """
            {"max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"t"},
            {"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"r"}]}]},{"role":"assistant","content":[{"type":"thinking","thinking":"h"},
            {"type":"tool_use","id":"i","name":"f","input":{"a":1}}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],
            "tool_choice":{"type":"tool","name":"f"},"thinking":{"type":"enabled","budget_tokens":9},"stop_sequences":["a"],"stream":true}""",
            "/v1/messages/count_tokens",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"t\"}]}",
            "/v1/embeddings",
            "{\"input\":[\"a\",\"b\"],\"encoding_format\":\"base64\",\"dimensions\":64}",
            "/tokenize",
            "{\"content\":\"a\",\"with_pieces\":true,\"parse_special\":false}",
            "/detokenize",
            "{\"tokens\":[1,2,3]}",
            "/apply-template",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"t\"}]}");

    private final Random random = new Random(SEED);

    @Test
    void bentBodiesGetCleanAnswers() throws Exception {
        assertTrue(bend(SECONDS, random) > 0);
    }

    /** Sends bent requests for a while; returns how many. */
    static int bend(long seconds, Random random) throws Exception {
        JsonBender bender = new JsonBender(random);
        List<String> paths = SAMPLES.keySet().stream().sorted().toList();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            int count = 0;
            while (System.nanoTime() < end || count < paths.size()) {
                String path = paths.get(count++ % paths.size());
                byte[] body = bender.bent(Objects.requireNonNull(SAMPLES.get(path)));
                HttpResponse<String> response = server.send(server.request(path)
                        .header("content-type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                        .build());
                String story = path + " " + new String(body, java.nio.charset.StandardCharsets.UTF_8) + " -> "
                        + response.statusCode() + " " + response.body();
                assertTrue(response.statusCode() == 200 || response.statusCode() == 400, story);
                if (response.statusCode() == 400) {
                    assertTrue(TestServer.json(response).at("/error/message").isTextual(), story);
                }
                server.engine.requests.clear();
            }
            return count;
        }
    }

    @Test
    void garbageOnTheWireHurtsNobody() throws Exception {
        byte[] start =
                ("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                                + "e\r\n{\"prompt\":\"a\"}\r\n0\r\n\r\n")
                        .getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            for (int i = 0; i < 200; i++) {
                byte[] bytes = start.clone();
                for (int change = random.nextInt(6); change >= 0; change--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
                }
                try (RawClient client = new RawClient(server.server.port())) {
                    client.send(new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1));
                } catch (IOException e) {
                    // The server may close before everything is written.
                    assertTrue(server.server.port() > 0);
                }
            }
            assertEquals(200, server.get("/health").statusCode());
        }
    }
}
