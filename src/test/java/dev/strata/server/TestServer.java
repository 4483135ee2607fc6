package dev.strata.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A server on a free port with a client for it. */
final class TestServer implements AutoCloseable {
    static final ObjectMapper MAPPER = new ObjectMapper();

    final FakeInferenceService engine;
    final HttpServer server;
    final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(5))
            .build();

    private TestServer(FakeInferenceService engine, HttpServer server) {
        this.engine = engine;
        this.server = server;
    }

    static TestServer start(FakeInferenceService engine) throws IOException {
        return start(engine, UnaryOperator.identity());
    }

    static TestServer start(FakeInferenceService engine, UnaryOperator<ServerOptions> change) throws IOException {
        return start(engine, change, Transport.best());
    }

    static TestServer start(FakeInferenceService engine, UnaryOperator<ServerOptions> change, Transport transport)
            throws IOException {
        return new TestServer(
                engine, HttpServer.start(engine, change.apply(ServerOptions.of("127.0.0.1", 0)), transport));
    }

    HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
                .timeout(Duration.ofSeconds(20));
    }

    HttpResponse<String> get(String path) {
        return send(request(path).GET().build());
    }

    HttpResponse<String> post(String path, String json) {
        return send(request(path)
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(json))
                .build());
    }

    HttpResponse<String> send(HttpRequest request) {
        try {
            return client.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** The data lines of an event stream, with event names in front where there are any. */
    static List<String> events(String body) {
        List<String> events = new ArrayList<>();
        for (String frame : body.split("\n\n")) {
            if (!frame.startsWith(":") && !frame.isBlank()) {
                events.add(frame.strip());
            }
        }
        return events;
    }

    static JsonNode json(String text) {
        try {
            return MAPPER.readTree(text);
        } catch (IOException e) {
            throw new UncheckedIOException(text, e);
        }
    }

    static JsonNode json(HttpResponse<String> response) {
        return json(response.body());
    }

    @Override
    public void close() {
        client.close();
        server.close();
    }
}
