package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Prompt;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Speculation with the draft layer of strata-tiny, through the engine: the passes that its card names, and the same text without it. */
class TinyDraftsTest {
    private static final int CONVERSATIONS = 12;

    private static final Path OWN = Path.of("models/strata-tiny");
    private static final Path SHARED = Path.of("../shared/models/strata-tiny");

    @Test
    void draftsSaveThePassesThatTheCardNames() throws IOException {
        // The file that comes with Strata has fewer bits than the weights that the card was made with.
        boolean own = !Files.isDirectory(SHARED);
        Path folder = own ? OWN : SHARED;
        assumeTrue(Files.isDirectory(folder), "neither " + SHARED + " nor " + OWN + " is there");
        Path model = own ? OWN.resolve("strata-tiny.gguf") : folder;
        JsonNode golden =
                new ObjectMapper().readTree(folder.resolve("golden-chat.json").toFile());
        Run plain = run(model, golden, EngineOptions.Speculation.OFF);
        Run drafted = run(model, golden, new EngineOptions.Speculation(true, 5, 0.5f, 0));
        assertEquals(plain.answers(), drafted.answers());
        // The card counts all tokens of the answers, the first ones too, which come with their prompts.
        double tokensAPass = drafted.tokens() / (double) drafted.passes();
        System.out.printf(
                Locale.ROOT,
                "strata-tiny: %d passes, %.2f tokens a pass, %.0f ms without and %.0f ms with drafts%n",
                drafted.passes(),
                tokensAPass,
                plain.millis(),
                drafted.millis());
        assertEquals(74, drafted.passes(), own ? 4 : 1, tokensAPass + " tokens a pass");
        assertEquals(3.32, tokensAPass, own ? 0.2 : 0.05);
    }

    private record Run(List<String> answers, long tokens, long passes, double millis) {}

    private static Run run(Path folder, JsonNode golden, EngineOptions.Speculation speculation) {
        EngineOptions options =
                new EngineOptions(BackendChoice.AUTO, 2, KvFormat.F32, 512, 1, 128, 16, 0, 2048, 0, speculation, false);
        List<String> answers = new ArrayList<>();
        double millis = 0;
        try (Engine engine =
                EngineLoader.load(new Options(folder, List.of(), options, Variables.defaults()), () -> {})) {
            for (int i = 0; i < CONVERSATIONS; i++) {
                List<Integer> ids = new ArrayList<>();
                golden.get(i).get("prompt_ids").forEach(id -> ids.add(id.asInt()));
                Collector collector = new Collector();
                var unused = engine.generate(
                        EngineFixture.request(new Prompt.Tokens(ids), 200, 1, EngineFixture.seeded(0, 1), List.of()),
                        collector);
                answers.add(collector.awaitEnd().text());
                millis += collector.end().timings().predictedMillis();
            }
            // The last answer is told before its pass is counted.
            long deadline = System.nanoTime() + 5_000_000_000L;
            while (!Integer.valueOf(0).equals(engine.status().get("running")) && System.nanoTime() < deadline) {
                Thread.onSpinWait();
            }
            Map<String, Object> status = engine.status();
            return new Run(answers, number(status, "tokens_generated"), number(status, "decode_passes"), millis);
        }
    }

    private static long number(Map<String, Object> status, String name) {
        Object value = status.get(name);
        if (value == null && status.get("counters") instanceof Map<?, ?> counters) {
            value = counters.get(name);
        }
        return ((Number) java.util.Objects.requireNonNull(value, () -> name + " is not in " + status)).longValue();
    }
}
