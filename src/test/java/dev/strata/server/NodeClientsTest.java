package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.api.FinishReason;
import dev.strata.api.Message;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.ToolChoice;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Public JavaScript clients against the server: what they send is understood, what they get parses. */
final class NodeClientsTest {
    private static final Path CLIENTS = Path.of("scripts/clients");

    /** An engine that does what the scripts ask for, at once. */
    static FakeInferenceService obliging() {
        return new FakeInferenceService(output -> {
            if (output.request.prompt() instanceof Prompt.Chat chat) {
                chat(output, chat);
            } else {
                output.content(" blue");
                output.finish(FinishReason.STOP);
            }
        });
    }

    private static void chat(FakeInferenceService.Output output, Prompt.Chat chat) throws InterruptedException {
        Message last = chat.messages().getLast();
        if ("endless".equals(last.content())) {
            output.content("on");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        } else if (chat.toolChoice() instanceof ToolChoice.Required) {
            output.call(0, "call_1", chat.tools().getFirst().name(), "{\"city\":", "\"Oslo\"}");
            output.finish(FinishReason.TOOL_CALLS);
        } else if (output.request.format() instanceof OutputFormat.JsonSchema) {
            output.content("{\"city\":\"Oslo\"");
            output.content(output.request.format().toString().contains("degrees") ? ",\"degrees\":21}" : "}");
            output.finish(FinishReason.STOP);
        } else {
            output.reasoning("A lake, hm.");
            output.content("Water", FakeInferenceService.token(5, "Water", -0.1f));
            output.content(" in a hollow.");
            output.finish(FinishReason.STOP);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"openai", "anthropic", "ai", "langchain"})
    void clientIsServed(String client) throws Exception {
        Path node = CLIENTS.resolve("node_modules/node/bin/node");
        assumeTrue(Files.isExecutable(node), "scripts/clients has no packages: run npm ci there");
        try (TestServer server = TestServer.start(obliging())) {
            ProcessBuilder builder = new ProcessBuilder(node.toAbsolutePath().toString(), client + ".mjs")
                    .directory(CLIENTS.toFile())
                    .redirectErrorStream(true);
            builder.environment().put("STRATA_URL", "http://127.0.0.1:" + server.server.port());
            Process process = builder.start();
            String output;
            try {
                output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertTrue(process.waitFor(120, TimeUnit.SECONDS), output);
            } finally {
                process.destroyForcibly();
            }
            List<String> failures =
                    output.lines().filter(line -> !line.startsWith("ok ")).toList();
            assertEquals(0, process.exitValue(), output);
            assertEquals(List.of(), failures);
        }
    }
}
