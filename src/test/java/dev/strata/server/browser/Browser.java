package dev.strata.server.browser;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A headless Chromium, driven through chromedriver's HTTP interface (W3C WebDriver). */
public final class Browser implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Process driver;
    private final Path profile;
    private final HttpClient client;
    private final URI session;

    private Browser(Process driver, Path profile, HttpClient client, URI session) {
        this.driver = driver;
        this.profile = profile;
        this.client = client;
        this.session = session;
    }

    /** Why there is no browser here; empty when there is one. */
    public static Optional<String> missing() {
        for (String program : List.of("chromium", "chromedriver")) {
            if (find(program) == null) {
                return Optional.of(program + " is not installed (Debian: apt-get install chromium chromium-driver)");
            }
        }
        return Optional.empty();
    }

    private static @Nullable Path find(String program) {
        String path = System.getenv("PATH");
        if (path == null) {
            return null;
        }
        for (String folder : path.split(":")) {
            Path file = Path.of(folder, program);
            if (Files.isExecutable(file)) {
                return file;
            }
        }
        return null;
    }

    public static Browser start(int width, int height, boolean dark) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Process driver = new ProcessBuilder("chromedriver", "--port=" + port, "--silent")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Path profile = Files.createTempDirectory("strata-browser");
        HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        URI base = URI.create("http://127.0.0.1:" + port + "/session");
        List<String> flags = List.of(
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
                "--window-size=" + width + "," + height,
                "--user-data-dir=" + profile,
                dark ? "--blink-settings=preferredColorScheme=0" : "--blink-settings=preferredColorScheme=1");
        Map<String, Object> capabilities =
                Map.of("capabilities", Map.of("alwaysMatch", Map.of("goog:chromeOptions", Map.of("args", flags))));
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                JsonNode value = call(client, "POST", base, capabilities);
                return new Browser(
                        driver,
                        profile,
                        client,
                        URI.create(base + "/" + value.get("sessionId").asText()));
            } catch (java.net.ConnectException e) {
                if (System.nanoTime() > end || !driver.isAlive()) {
                    driver.destroyForcibly();
                    throw e;
                }
                driver.waitFor(50, TimeUnit.MILLISECONDS);
            }
        }
    }

    private static JsonNode call(HttpClient client, String method, URI uri, @Nullable Object body)
            throws IOException, InterruptedException {
        HttpRequest.BodyPublisher content = body == null
                ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body));
        HttpResponse<byte[]> response = client.send(
                HttpRequest.newBuilder(uri)
                        .timeout(Duration.ofSeconds(90))
                        .method(method, content)
                        .build(),
                HttpResponse.BodyHandlers.ofByteArray());
        JsonNode value = JSON.readTree(response.body()).get("value");
        if (response.statusCode() != 200) {
            throw new IOException(method + " " + uri.getPath() + ": " + value);
        }
        return value;
    }

    private JsonNode call(String method, String path, @Nullable Object body) throws IOException, InterruptedException {
        return call(client, method, URI.create(session + path), body);
    }

    public void open(String address) throws Exception {
        call("POST", "/url", Map.of("url", address));
    }

    /** Runs a function body in the page and gives what it returns. */
    public JsonNode run(String script, Object... arguments) throws Exception {
        return call("POST", "/execute/sync", Map.of("script", script, "args", arguments));
    }

    /** Waits, by the page's own clock, until an expression of the page holds. */
    public void await(String expression) throws Exception {
        call("POST", "/timeouts", Map.of("script", PATIENCE.toMillis()));
        String script = "const done = arguments[arguments.length - 1];"
                + "const look = () => { let held = false; try { held = !!(" + expression + "); } catch {}"
                + " if (held) done(true); else setTimeout(look, 20); }; look();";
        call("POST", "/execute/async", Map.of("script", script, "args", List.of()));
    }

    /** Presses keys wherever the focus is; the WebDriver key codes stand for special keys. */
    public void type(String keys) throws Exception {
        JsonNode active = call("GET", "/element/active", null);
        String id = active.properties().iterator().next().getValue().asText();
        call("POST", "/element/" + id + "/value", Map.of("text", keys));
    }

    public void click(String selector) throws Exception {
        JsonNode found = call("POST", "/element", Map.of("using", "css selector", "value", selector));
        String id = found.properties().iterator().next().getValue().asText();
        call("POST", "/element/" + id + "/click", Map.of());
    }

    public byte[] screenshot() throws Exception {
        return Base64.getDecoder().decode(call("GET", "/screenshot", null).asText());
    }

    @Override
    public void close() throws Exception {
        try {
            call("DELETE", "", null);
        } finally {
            driver.destroy();
            if (!driver.waitFor(5, TimeUnit.SECONDS)) {
                driver.destroyForcibly();
            }
            client.close();
            deleteProfile();
        }
    }

    private void deleteProfile() throws IOException {
        try (Stream<Path> files = Files.walk(profile)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (java.io.UncheckedIOException | java.nio.file.FileSystemException e) {
            // The browser may still be tidying up; the folder is temporary anyway.
        }
    }
}
