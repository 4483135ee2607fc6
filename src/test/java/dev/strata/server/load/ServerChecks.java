package dev.strata.server.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a running server has to stand: many streams for a while with /health beside them, prompts between answers, a thousand clients that go away.
 * Prints a line with PASS or FAIL for each; the exit code is 1 when one failed. {@code ServerChecks URL STREAMS SECONDS [PROCESS]}; with the
 * server's process number it tells what the server's own threads took.
 */
public final class ServerChecks {
    private static final int ABORTS = 1000;
    private static final double HEALTH_GOAL = 5;
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final URI server;
    private final HttpClient client = HttpClient.newHttpClient();
    private final @Nullable String process;
    private boolean failed;

    private ServerChecks(URI server, @Nullable String process) {
        this.server = server;
        this.process = process;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        ServerChecks checks = new ServerChecks(URI.create(arguments[0]), arguments.length > 3 ? arguments[3] : null);
        checks.streams(Integer.parseInt(arguments[1]), Double.parseDouble(arguments[2]));
        checks.sharing(Math.min(12, Double.parseDouble(arguments[2])));
        checks.aborts();
        System.exit(checks.failed ? 1 : 0);
    }

    private void tell(boolean good, String format, Object... values) {
        failed |= !good;
        System.out.println((good ? "PASS " : "FAIL ") + String.format(Locale.ROOT, format, values));
    }

    private void streams(int streams, double seconds) throws IOException, InterruptedException {
        Process probe = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-Xmx64m",
                        "-XX:+UseSerialGC",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        HealthProbe.class.getName(),
                        server.toString(),
                        Double.toString(seconds * 0.8))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        double before = serverNanos();
        StreamLoad.Result result = StreamLoad.run(server, streams, seconds, 32);
        double micros = (serverNanos() - before) / 1e3 / Math.max(1, result.events());
        tell(
                result.errors() == 0 && result.answers() > 0,
                "load: %s; the server's own threads took %.0f us a token, requests and /health included",
                result.summary(),
                micros);
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(probe.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            String[] millis = (line == null ? "0 1e9 1e9" : line).split(" ");
            double late = Double.parseDouble(millis[1]);
            tell(
                    late < HEALTH_GOAL,
                    "/health under this load, asked from another process: p50 %s ms, p99 %s ms (goal %.0f), longest %s ms",
                    millis[0],
                    millis[1],
                    HEALTH_GOAL,
                    millis[2]);
        }
    }

    /** Processor time so far of the event loops and of the threads that carry requests; NaN when it is not known. */
    private double serverNanos() throws IOException {
        Path tasks = Path.of("/proc", String.valueOf(process), "task");
        if (process == null || !Files.isDirectory(tasks)) {
            return Double.NaN;
        }
        double nanos = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
            for (Path thread : threads) {
                String name = Files.readString(thread.resolve("comm"));
                if (name.startsWith("strata-http") || name.startsWith("ForkJoinPool")) {
                    nanos += Long.parseLong(
                            Files.readString(thread.resolve("schedstat")).split(" ")[0]);
                }
            }
        }
        return nanos;
    }

    /** Long prompts arrive while four answers stream; the engine says how it shared its time. */
    private void sharing(double seconds) throws IOException, InterruptedException {
        Thread answers = Thread.ofPlatform().start(() -> {
            try {
                StreamLoad.Result result = StreamLoad.run(server, 4, seconds, 200);
                tell(result.errors() == 0, "answers beside prompts: %s", result.summary());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        long end = System.nanoTime() + (long) (seconds * 1e9) - 500_000_000;
        int prompts = 0;
        while (System.nanoTime() < end) {
            String text = (prompts++ + " is a number, and a word is a word. ").repeat(60);
            String body = "{\"prompt\":\"" + text + "\",\"max_tokens\":1}";
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(server.resolve("/v1/completions"))
                            .header("content-type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString(body))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                tell(false, "prompt: %d %s", response.statusCode(), response.body());
                break;
            }
        }
        JsonNode last = status().at("/counters/last_10_s");
        answers.join();
        double share = last.path("decode_share").asDouble();
        double gap = last.path("longest_gap_ms").asDouble();
        double chunk = last.path("longest_chunk_ms").asDouble();
        tell(
                share > 0.4 && gap < chunk * 1.5 + 20,
                "%d prompts beside 4 answers: decoding had %.2f of the time (goal 0.5), longest gap between steps %.0f ms, longest chunk %.0f ms",
                prompts,
                share,
                gap,
                chunk);
    }

    private void aborts() throws IOException, InterruptedException {
        JsonNode before = status();
        byte[] request = request();
        for (int i = 0; i < ABORTS; i++) {
            try (Socket socket = new Socket(server.getHost(), server.getPort())) {
                socket.setSoLinger(true, 0);
                socket.getOutputStream().write(request);
                if (i % 2 == 0 && socket.getInputStream().read() < 0) {
                    throw new IOException("closed");
                }
            }
        }
        JsonNode after = status();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (after.get("running").asInt() + after.get("waiting").asInt() > 0 && System.nanoTime() < end) {
            TimeUnit.MILLISECONDS.sleep(100);
            after = status();
        }
        JsonNode cache = after.get("prefix_cache");
        int held = cache.get("pages").asInt()
                - cache.get("pages_free").asInt()
                - cache.get("pages_cached").asInt();
        int connections = get("/v1/status").at("/server/connections").asInt();
        tell(
                after.get("running").asInt() + after.get("waiting").asInt() == 0 && held == 0 && connections < 10,
                "%d aborted requests: %d cancelled; then %d running, %d waiting, %d pages held by nobody, %d connections",
                ABORTS,
                after.at("/counters/requests_cancelled").asLong()
                        - before.at("/counters/requests_cancelled").asLong(),
                after.get("running").asInt(),
                after.get("waiting").asInt(),
                held,
                connections);
    }

    private static byte[] request() {
        String body =
                "{\"messages\":[{\"role\":\"user\",\"content\":\"Define ocean.\"}],\"stream\":true,\"ignore_eos\":true,\"max_tokens\":500}";
        return ("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length() + "\r\n\r\n" + body)
                .getBytes(StandardCharsets.US_ASCII);
    }

    private JsonNode status() throws IOException, InterruptedException {
        return get("/v1/status").get("engine");
    }

    private JsonNode get(String path) throws IOException, InterruptedException {
        HttpResponse<String> response =
                client.send(HttpRequest.newBuilder(server.resolve(path)).build(), HttpResponse.BodyHandlers.ofString());
        return MAPPER.readTree(response.body());
    }
}
