package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.FinishReason;
import dev.strata.api.InferenceService;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Statuses and headers: what HTTP itself asks of the server. */
final class HttpRulesTest {
    private static final String CHAT = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";

    private static String code(HttpResponse<String> response) {
        return TestServer.json(response).at("/error/code").asText();
    }

    @Test
    void unknownPathsAndMethods() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            HttpResponse<String> missing = server.get("/v1/nothing");
            assertEquals(404, missing.statusCode());
            assertEquals("unknown_url", code(missing));
            HttpResponse<String> wrong = server.get("/v1/chat/completions");
            assertEquals(405, wrong.statusCode());
            assertEquals("POST", wrong.headers().firstValue("allow").orElseThrow());
            assertEquals(404, server.get("/v1/models/none").statusCode());
            assertEquals(200, server.get("/v1/models/tiny").statusCode());
            assertEquals(200, server.get("/v1/models/").statusCode());
        }
    }

    @Test
    void onlyJsonIsTaken() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            HttpRequest form = server.request("/v1/chat/completions")
                    .header("content-type", "text/plain")
                    .POST(HttpRequest.BodyPublishers.ofString(CHAT))
                    .build();
            assertEquals(415, server.send(form).statusCode());
            HttpRequest packed = server.request("/v1/chat/completions")
                    .header("content-type", "application/json")
                    .header("content-encoding", "gzip")
                    .POST(HttpRequest.BodyPublishers.ofString(CHAT))
                    .build();
            assertEquals(415, server.send(packed).statusCode());
            HttpRequest charset = server.request("/v1/chat/completions")
                    .header("content-type", "application/json; charset=utf-8")
                    .POST(HttpRequest.BodyPublishers.ofString(CHAT))
                    .build();
            assertEquals(200, server.send(charset).statusCode());
        }
    }

    @Test
    void largeBodiesAreRefused() throws Exception {
        try (TestServer server = TestServer.start(
                        FakeInferenceService.hello(),
                        options -> options.withLimits(options.limits().with(limits -> limits.bodyBytes = 1000)));
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", " ".repeat(2000));
            String answer = client.readAll();
            assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
            assertTrue(answer.contains("larger than 1000 bytes"), answer);
            assertTrue(answer.contains("x-request-id: req-"), answer);
        }
    }

    @Test
    void aClientThatAsksBeforeItSendsHearsWhy() throws Exception {
        try (TestServer server = TestServer.start(
                FakeInferenceService.hello(),
                options -> options.withLimits(options.limits().with(limits -> limits.bodyBytes = 1000)))) {
            String head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
            for (String[] one : new String[][] {
                {"100-continue", "2000", "413 ", "larger than 1000 bytes"},
                {"miracles", "10", "417 ", "100-continue"}
            }) {
                try (RawClient client = new RawClient(server.server.port())) {
                    client.send(head + "Content-Length: " + one[1] + "\r\nExpect: " + one[0] + "\r\n\r\n");
                    String answer = client.readUntil("}}");
                    assertTrue(answer.startsWith("HTTP/1.1 " + one[2]) && answer.contains(one[3]), answer);
                }
            }
        }
    }

    /** What a later request hears before its turn would stand in the middle of the answer before it. */
    @Test
    void nothingOfALaterRequestIsWrittenIntoAStream() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.content("first");
            assertTrue(go.await(20, TimeUnit.SECONDS));
            output.content("second");
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(engine);
                RawClient client = new RawClient(server.server.port())) {
            String body = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"stream\":true}";
            client.post("/v1/chat/completions", body);
            client.readUntil("first");
            client.send(
                    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: "
                            + "100-continue\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
            // Both requests are there as soon as this one, which comes later, is answered.
            assertEquals(200, server.get("/health").statusCode());
            go.countDown();
            String rest = client.readUntil("[DONE]");
            assertTrue(rest.contains("second"), rest);
            assertFalse(rest.contains("HTTP/1.1 "), rest);
            assertTrue(client.readUntil("[DONE]").contains("HTTP/1.1 200 "));
        }
    }

    @Test
    void aClientThatIsStillSendingSeesItsRefusal() throws Exception {
        try (TestServer server = TestServer.start(
                        FakeInferenceService.hello(),
                        options -> options.withLimits(options.limits().with(limits -> limits.bodyBytes = 1000)));
                RawClient client = new RawClient(server.server.port())) {
            client.post("/v1/chat/completions", " ".repeat(8 << 20));
            assertTrue(client.readAll().startsWith("HTTP/1.1 413 "));
        }
    }

    @Test
    void longHeadersAndLinesAreRefused() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + "y".repeat(40_000) + "\r\n\r\n");
                assertTrue(client.readUntil("\r\n").startsWith("HTTP/1.1 431 "));
            }
            try (RawClient client = new RawClient(server.server.port())) {
                client.send("GET /" + "y".repeat(9000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
                assertTrue(client.readUntil("\r\n").startsWith("HTTP/1.1 414 "));
            }
            try (RawClient client = new RawClient(server.server.port())) {
                client.send("garbage\r\n\r\n");
                assertTrue(client.readAll().startsWith("HTTP/1.1 400 "));
            }
        }
    }

    @Test
    void keysAreNeeded() throws Exception {
        try (TestServer server =
                TestServer.start(FakeInferenceService.hello(), options -> options.withApiKeys(List.of("one", "two")))) {
            HttpResponse<String> refused = server.post("/v1/chat/completions", CHAT);
            assertEquals(401, refused.statusCode());
            assertEquals("invalid_api_key", code(refused));
            assertEquals(200, server.get("/health").statusCode());
            assertEquals(401, server.get("/v1/models").statusCode());
            for (String key : List.of("one", "two")) {
                assertEquals(
                        200,
                        server.send(server.request("/v1/models")
                                        .header("authorization", "Bearer " + key)
                                        .build())
                                .statusCode());
                assertEquals(
                        200,
                        server.send(server.request("/v1/models")
                                        .header("x-api-key", key)
                                        .build())
                                .statusCode());
            }
            assertEquals(
                    401,
                    server.send(server.request("/v1/models")
                                    .header("authorization", "Bearer three")
                                    .build())
                            .statusCode());
        }
    }

    @Test
    void foreignHostsAreRefusedWithoutKey() throws Exception {
        try (TestServer server = TestServer.start(
                FakeInferenceService.hello(), options -> options.withAllowedHosts(List.of("gpu.example")))) {
            assertEquals("403", hostStatus(server, "evil.example"));
            assertEquals("403", hostStatus(server, "evil.example:8080"));
            assertEquals("200", hostStatus(server, "localhost:8080"));
            assertEquals("200", hostStatus(server, "127.0.0.1"));
            assertEquals("200", hostStatus(server, "[::1]:8080"));
            assertEquals("200", hostStatus(server, "GPU.example:1"));
        }
    }

    private static String hostStatus(TestServer server, String host) throws Exception {
        try (RawClient client = new RawClient(server.server.port())) {
            client.send("GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
            return client.readUntil("\r\n").substring(9, 12);
        }
    }

    @Test
    void corsOnlyWhenAsked() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            HttpResponse<String> plain = server.send(server.request("/v1/models")
                    .header("origin", "https://app.example")
                    .build());
            assertTrue(plain.headers().firstValue("access-control-allow-origin").isEmpty());
        }
        try (TestServer server = TestServer.start(
                FakeInferenceService.hello(), options -> options.withCorsOrigins(List.of("https://app.example")))) {
            HttpResponse<String> allowed = server.send(server.request("/v1/models")
                    .header("origin", "https://app.example")
                    .build());
            assertEquals(
                    "https://app.example",
                    allowed.headers().firstValue("access-control-allow-origin").orElseThrow());
            HttpResponse<String> other = server.send(server.request("/v1/models")
                    .header("origin", "https://other.example")
                    .build());
            assertTrue(other.headers().firstValue("access-control-allow-origin").isEmpty());
            HttpResponse<String> preflight = server.send(server.request("/v1/chat/completions")
                    .method("OPTIONS", HttpRequest.BodyPublishers.noBody())
                    .header("origin", "https://app.example")
                    .header("access-control-request-method", "POST")
                    .header("access-control-request-headers", "content-type, x-stainless-os")
                    .build());
            assertEquals(204, preflight.statusCode());
            assertEquals(
                    "content-type, x-stainless-os",
                    preflight
                            .headers()
                            .firstValue("access-control-allow-headers")
                            .orElseThrow());
        }
    }

    @Test
    void fullQueueIs429WithRetryAfter() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        engine.refusal = new ApiError(ApiError.Kind.BUSY, "queue_full", "The queue is full", null);
        try (TestServer server = TestServer.start(engine)) {
            for (String stream : List.of("", ",\"stream\":true")) {
                HttpResponse<String> refused =
                        server.post("/v1/chat/completions", CHAT.replace("]}", "]" + stream + "}"));
                assertEquals(429, refused.statusCode());
                assertEquals("queue_full", code(refused));
                assertTrue(refused.headers().firstValue("retry-after").isPresent());
            }
        }
    }

    @Test
    void healthFollowsTheEngine() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        try (TestServer server = TestServer.start(engine)) {
            assertEquals("{\"status\":\"ok\"}", server.get("/health").body());
            engine.state = InferenceService.State.LOADING;
            engine.reason = "reading tensors, 40 %";
            HttpResponse<String> loading = server.get("/health");
            assertEquals(503, loading.statusCode());
            assertEquals("loading", TestServer.json(loading).get("status").asText());
            assertEquals(503, server.post("/v1/chat/completions", CHAT).statusCode());
            engine.state = InferenceService.State.DEAD;
            engine.reason = "step took longer than 300 s";
            HttpResponse<String> dead = server.get("/health");
            assertEquals(503, dead.statusCode());
            assertEquals(
                    "step took longer than 300 s",
                    TestServer.json(dead).at("/error/message").asText());
        }
    }

    @Test
    void statusHasADeadline() throws Exception {
        FakeInferenceService engine = FakeInferenceService.hello();
        CountDownLatch hang = new CountDownLatch(1);
        engine.hang = hang;
        try (TestServer server = TestServer.start(
                engine,
                options -> options.withLimits(
                        options.limits().with(limits -> limits.statusTime = Duration.ofMillis(100))))) {
            for (String path : List.of("/v1/status", "/metrics")) {
                HttpResponse<String> late = server.get(path);
                assertEquals(503, late.statusCode(), path);
                assertEquals("engine_not_responding", code(late));
            }
            hang.countDown();
            engine.hang = null;
            assertEquals(
                    "fake",
                    TestServer.json(server.get("/v1/status"))
                            .at("/engine/backend")
                            .asText());
        }
    }

    @Test
    void metricsTellRequestsAndEngineFacts() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            server.post("/v1/chat/completions", CHAT);
            String text = server.get("/metrics").body();
            assertTrue(
                    text.contains(
                            "strata_http_requests_total{method=\"POST\",route=\"/v1/chat/completions\",status=\"200\"} 1.0"),
                    text);
            assertTrue(text.contains("strata_predicted_tokens_total 5.0"), text);
            assertTrue(text.contains("strata_prompt_tokens_total{source=\"cached\"} 3.0"), text);
            assertTrue(text.contains("strata_engine_memory_used 7.0"), text);
        }
    }

    @Test
    void connectionsAreReusedAndPipelinedInOrder() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello());
                RawClient client = new RawClient(server.server.port())) {
            String stream = CHAT.replace("]}", "],\"stream\":true}");
            String post = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: " + stream.length() + "\r\n\r\n" + stream;
            client.send(post + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + post);
            String answer = client.readUntil("data: [DONE]\n\n\r\n0\r\n\r\n");
            assertFalse(answer.contains("{\"status\":\"ok\"}"), answer);
            client.readUntil("{\"status\":\"ok\"}");
            client.readUntil("data: [DONE]\n\n\r\n0\r\n\r\n");
            client.get("/health");
            client.readUntil("{\"status\":\"ok\"}");
        }
    }

    @Test
    void oldProtocolGetsAStreamWithoutChunks() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello());
                RawClient client = new RawClient(server.server.port())) {
            String stream = CHAT.replace("]}", "],\"stream\":true}");
            client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: "
                    + stream.length() + "\r\n\r\n" + stream);
            String answer = client.readAll();
            assertTrue(answer.endsWith("data: [DONE]\n\n"), answer);
            assertFalse(answer.contains("transfer-encoding"), answer);
        }
    }

    @Test
    void headHasNoBody() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello());
                RawClient client = new RawClient(server.server.port())) {
            client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assertTrue(client.readUntil("\r\n\r\n").contains("content-length: 15"));
            client.get("/health");
            assertTrue(client.readUntil("}").startsWith("HTTP/1.1 200 OK"));
        }
    }

    @Test
    void slowHeadersAndBodiesAreCutOff() throws Exception {
        try (TestServer server = TestServer.start(
                FakeInferenceService.hello(),
                options -> options.withLimits(options.limits().with(limits -> {
                    limits.headerTime = Duration.ofMillis(150);
                    limits.bodyTime = Duration.ofMillis(150);
                    limits.idleTime = Duration.ofMillis(150);
                })))) {
            try (RawClient client = new RawClient(server.server.port())) {
                client.send("GET /health HT");
                assertEquals("", client.readAll());
            }
            try (RawClient client = new RawClient(server.server.port())) {
                client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
                assertEquals("", client.readAll());
            }
            try (RawClient client = new RawClient(server.server.port())) {
                client.get("/health");
                assertTrue(client.readAll().endsWith("{\"status\":\"ok\"}"));
            }
        }
    }

    @Test
    void tooManyConnectionsAreClosed() throws Exception {
        try (TestServer server = TestServer.start(
                        FakeInferenceService.hello(),
                        options -> options.withLimits(options.limits().with(limits -> limits.connections = 1)));
                RawClient first = new RawClient(server.server.port())) {
            first.get("/health");
            first.readUntil("ok\"}");
            try (RawClient second = new RawClient(server.server.port())) {
                assertEquals("", second.readAll());
            }
        }
    }

    @Test
    void oneClientHasAShare() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> output.awaitCancel());
        try (TestServer server = TestServer.start(
                        engine,
                        options -> options.withApiKeys(List.of("one", "two"))
                                .withLimits(options.limits().with(limits -> limits.requestsPerKey = 1)));
                RawClient busy = new RawClient(server.server.port())) {
            String stream = CHAT.replace("]}", "],\"stream\":true}");
            busy.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n"
                    + "Content-Type: application/json\r\nContent-Length: " + stream.length() + "\r\n\r\n" + stream);
            busy.readUntil(": accepted\n\n");
            HttpRequest.Builder more = server.request("/v1/chat/completions")
                    .header("content-type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(CHAT));
            assertEquals(
                    429,
                    server.send(more.copy()
                                    .header("authorization", "Bearer one")
                                    .build())
                            .statusCode());
            engine.script(output -> output.finish(dev.strata.api.FinishReason.STOP));
            assertEquals(
                    200,
                    server.send(more.copy()
                                    .header("authorization", "Bearer two")
                                    .build())
                            .statusCode());
        }
    }
}
