package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.engine.Engine;
import dev.strata.engine.EngineLoader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Public client libraries against a server with the model that comes with Strata. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ClientsTest {
    private static final Path CLIENTS = Path.of("scripts/clients");
    private static final Path MODEL = Path.of("models/strata-tiny/strata-tiny.gguf");

    private Engine engine;
    private HttpServer server;

    @BeforeAll
    void start() throws IOException {
        boolean javaScript = Files.isDirectory(CLIENTS.resolve("node_modules"));
        boolean java = Files.isDirectory(CLIENTS.resolve("java/target/lib"));
        assumeTrue(javaScript || java, "scripts/clients has no packages: .ci/run installs them");
        assumeTrue(Files.exists(MODEL), MODEL + " is not there");
        EngineOptions options = new EngineOptions(
                BackendChoice.AUTO,
                2,
                KvFormat.F16,
                2048,
                2,
                128,
                16,
                8,
                2048,
                -1,
                EngineOptions.Speculation.DEFAULTS,
                false);
        engine = EngineLoader.load(new Options(MODEL, List.of("strata-tiny"), options, Variables.defaults()), () -> {});
        server = HttpServer.start(engine, ServerOptions.of("127.0.0.1", 0));
    }

    @AfterAll
    void stop() {
        if (server != null) {
            server.close();
        }
        if (engine != null) {
            engine.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"openai", "anthropic", "ai", "langchain"})
    void javaScript(String client) throws Exception {
        Path node = CLIENTS.resolve("node_modules/node/bin/node");
        assumeTrue(Files.isExecutable(node), "no JavaScript packages: run npm ci in scripts/clients");
        run(CLIENTS, node.toAbsolutePath().toString(), client + ".mjs");
    }

    @ParameterizedTest
    @ValueSource(strings = {"OpenAiJava", "LangChain4j"})
    void java(String client) throws Exception {
        Path folder = CLIENTS.resolve("java");
        assumeTrue(
                Files.isDirectory(folder.resolve("target/lib")),
                "no Java clients: run mvn process-classes in scripts/clients/java");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        run(folder, java, "-Xmx256m", "-cp", "target/classes:target/lib/*", "clients." + client);
    }

    /** Every line of a client's output has to be a check that held. */
    private void run(Path folder, String... command) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().put("STRATA_URL", server.address());
        Process process = builder.start();
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(process.waitFor(240, TimeUnit.SECONDS), output);
            assertEquals(0, process.exitValue(), output);
            assertTrue(output.lines().anyMatch(line -> line.startsWith("ok ")), output);
        } finally {
            process.destroyForcibly();
        }
    }
}
