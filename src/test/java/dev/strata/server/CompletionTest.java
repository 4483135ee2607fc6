package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Prompt;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Plain completions, embeddings and the text tools. */
final class CompletionTest {
    private static Prompt prompt(FakeInferenceService engine) throws InterruptedException {
        GenerateRequest request = engine.requests.poll(5, TimeUnit.SECONDS);
        assertNotNull(request);
        return request.prompt();
    }

    @Test
    void promptForms() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            server.post("/v1/completions", "{\"prompt\":\"a\"}");
            assertEquals(new Prompt.Text("a"), prompt(engine));
            server.post("/v1/completions", "{\"prompt\":[1,2]}");
            assertEquals(new Prompt.Tokens(List.of(1, 2)), prompt(engine));
            JsonNode two = TestServer.json(server.post("/v1/completions", "{\"prompt\":[\"a\",[3]]}"));
            List<Prompt> prompts = new ArrayList<>(List.of(prompt(engine), prompt(engine)));
            assertTrue(prompts.contains(new Prompt.Text("a")) && prompts.contains(new Prompt.Tokens(List.of(3))));
            assertEquals(2, two.get("choices").size());
            assertEquals("Hello world", two.at("/choices/1/text").asText());
            assertEquals(1, two.at("/choices/1/index").asInt());
            assertEquals(22, two.at("/usage/prompt_tokens").asInt());
            for (String bad : List.of("5", "[]", "[\"a\",5]", "[-1]", "[1.5]", "[[]]")) {
                HttpResponse<String> refused = server.post("/v1/completions", "{\"prompt\":" + bad + "}");
                assertEquals(400, refused.statusCode(), bad);
            }
        }
    }

    @Test
    void settings() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            server.post("/v1/completions", "{\"prompt\":\"a\",\"echo\":true,\"logprobs\":0,\"max_tokens\":0}");
            GenerateRequest score = engine.requests.poll(5, TimeUnit.SECONDS);
            assertNotNull(score);
            assertTrue(score.echo());
            assertEquals(0, score.maxTokens());
            assertEquals(0, score.topLogprobs());
            server.post("/v1/completions", "{\"prompt\":\"a\"}");
            assertEquals(16, engine.requests.take().maxTokens());
            assertEquals(
                    400,
                    server.post("/v1/completions", "{\"prompt\":\"a\",\"best_of\":3}")
                            .statusCode());
        }
    }

    @Test
    void suffixNeedsAModelForIt() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            String body = "{\"prompt\":\"a\",\"suffix\":\"c\"}";
            assertEquals(
                    "suffix",
                    TestServer.json(server.post("/v1/completions", body))
                            .at("/error/param")
                            .asText());
            engine.fillInTheMiddle = true;
            assertEquals(200, server.post("/v1/completions", body).statusCode());
            assertEquals(new Prompt.FillIn("a", "c"), prompt(engine));
        }
    }

    @Test
    void streams() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            List<String> events = TestServer.events(server.post(
                            "/v1/completions",
                            "{\"prompt\":\"a\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}")
                    .body());
            assertEquals(5, events.size());
            JsonNode first = TestServer.json(events.getFirst().substring(6));
            assertEquals("text_completion", first.get("object").asText());
            assertEquals(
                    "[{\"index\":0,\"text\":\"Hello\",\"logprobs\":null,\"finish_reason\":null}]",
                    first.get("choices").toString());
            assertEquals("data: [DONE]", events.getLast());
        }
    }

    @Test
    void oneFailedPromptFailsTheRequestAndStopsTheOthers() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            if (output.request.prompt().equals(new Prompt.Text("bad"))) {
                output.fail(new dev.strata.api.ApiError(dev.strata.api.ApiError.Kind.INTERNAL, "x", "failed", null));
            } else {
                output.awaitCancel();
                output.finish(FinishReason.CANCELLED);
            }
        });
        try (TestServer server = TestServer.start(engine)) {
            assertEquals(
                    500,
                    server.post("/v1/completions", "{\"prompt\":[\"good\",\"bad\"]}")
                            .statusCode());
            assertNotNull(engine.cancellations.poll(5, TimeUnit.SECONDS));
        }
    }

    @Test
    void embeddings() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            JsonNode one = TestServer.json(server.post("/v1/embeddings", "{\"input\":\"abcd\"}"));
            assertEquals("[0.6,0.8]", one.at("/data/0/embedding").toString());
            assertEquals(4, one.at("/usage/prompt_tokens").asInt());
            JsonNode many = TestServer.json(server.post(
                    "/v1/embeddings",
                    "{\"input\":[\"a\",\"bc\"],\"encoding_format\":\"base64\",\"pooling\":\"last\"}"));
            assertEquals("zcxMP5qZGT8=", many.at("/data/0/embedding").asText());
            assertEquals(1, many.at("/data/1/index").asInt());
            assertEquals(
                    200, server.post("/v1/embeddings", "{\"input\":[1,2,3]}").statusCode());
            assertEquals(
                    200,
                    server.post("/v1/embeddings", "{\"input\":[[1],[2,3]]}").statusCode());
            assertEquals(400, server.post("/v1/embeddings", "{\"input\":[]}").statusCode());
            assertEquals(
                    400,
                    server.post("/v1/embeddings", "{\"input\":\"a\",\"encoding_format\":\"hex\"}")
                            .statusCode());
            assertEquals(
                    400,
                    server.post("/v1/embeddings", "{\"input\":\"a\",\"dimensions\":8}")
                            .statusCode());
        }
    }

    @Test
    void textTools() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            assertEquals(
                    "{\"tokens\":[97,98]}",
                    server.post("/tokenize", "{\"content\":\"ab\"}").body());
            assertEquals(
                    "{\"tokens\":[{\"id\":97,\"piece\":\"a\"}]}",
                    server.post("/tokenize", "{\"content\":\"a\",\"with_pieces\":true}")
                            .body());
            assertEquals(
                    "{\"content\":\"ab\"}",
                    server.post("/detokenize", "{\"tokens\":[97,98]}").body());
            assertEquals(400, server.post("/detokenize", "{\"tokens\":[5000]}").statusCode());
            assertEquals(
                    "{\"prompt\":\"<user>Hi\"}",
                    server.post("/apply-template", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}")
                            .body());
            // Half a surrogate pair is no character; it must not break the answer.
            HttpResponse<String> half =
                    server.post("/apply-template", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\\ud800y\"}]}");
            assertEquals("{\"prompt\":\"<user>x\uFFFDy\"}", half.body());
        }
    }

    /** The engine knows prompts and formats; clients hear of the fields that they sent. */
    @Test
    void errorsNameTheFieldOfTheEndpoint() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            String[][] cases = {
                {"/v1/responses", "{\"input\":\"a\"}", "prompt", "input"},
                {"/v1/responses", "{\"input\":\"a\"}", "response_format", "text.format"},
                {"/v1/completions", "{\"prompt\":\"a\"}", "messages", "prompt"},
                {"/v1/completions", "{\"prompt\":\"a\"}", "stop", "stop"},
                {"/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", "prompt", "messages"}
            };
            for (String[] one : cases) {
                engine.refusal = ApiError.invalid(one[2], "no");
                JsonNode answer = TestServer.json(server.post(one[0], one[1]));
                assertEquals(one[3], answer.at("/error/param").asText());
            }
        }
    }

    @Test
    void llamaStatus() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            JsonNode props = TestServer.json(server.get("/props"));
            assertEquals(4096, props.at("/default_generation_settings/n_ctx").asInt(), props.toString());
            assertEquals(1, props.get("total_slots").asInt());
            assertEquals(
                    "[{\"id\":0,\"id_task\":-1,\"n_ctx\":4096,\"is_processing\":false,"
                            + "\"next_token\":[{\"has_next_token\":false,\"n_remain\":-1,\"n_decoded\":0}]}]",
                    server.get("/slots").body());
            engine.facts = java.util.Map.of("sampling", java.util.Map.of("top_k", 20));
            assertEquals(
                    20,
                    TestServer.json(server.get("/props"))
                            .at("/default_generation_settings/params/top_k")
                            .asInt());
            engine.facts = java.util.Map.of(
                    "slots",
                    List.of(
                            java.util.Map.of("tokens", 5),
                            java.util.Map.of("tokens", 6, "is_processing", true, "n_decoded", 7, "n_remain", 8)));
            JsonNode second = TestServer.json(server.get("/slots")).get(1);
            assertEquals(6, second.get("tokens").asInt());
            assertEquals(
                    "[{\"has_next_token\":true,\"n_remain\":8,\"n_decoded\":7}]",
                    second.get("next_token").toString());
            assertEquals(
                    "slot_files_off",
                    TestServer.json(server.post("/slots/0?action=save", "{\"filename\":\"a.bin\"}"))
                            .at("/error/code")
                            .asText());
            assertEquals(
                    400,
                    server.post("/slots/0?action=save", "{\"filename\":\"../a\"}")
                            .statusCode());
            assertEquals(400, server.post("/slots/0?action=explode", "{}").statusCode());
        }
    }
}
