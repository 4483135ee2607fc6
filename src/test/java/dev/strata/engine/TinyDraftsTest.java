package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Prompt;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.format.Shared;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Speculation with the draft layer of strata-tiny, through the engine: the passes that its card names, and the same text without it. */
class TinyDraftsTest {
    private static final int CONVERSATIONS = 12;

    @Test
    void draftsSaveThePassesThatTheCardNames() throws IOException {
        Path folder = Shared.require("models/strata-tiny");
        JsonNode golden =
                new ObjectMapper().readTree(folder.resolve("golden-chat.json").toFile());
        Run plain = run(folder, golden, EngineOptions.Speculation.OFF);
        Run drafted = run(folder, golden, new EngineOptions.Speculation(true, 5, 0.5f, 0));
        assertEquals(plain.answers(), drafted.answers());
        // The card counts all tokens of the answers, the first ones too, which come with their prompts.
        double tokensAPass = drafted.tokens() / (double) drafted.passes();
        assertEquals(74, drafted.passes(), 1, tokensAPass + " tokens a pass");
        assertEquals(3.32, tokensAPass, 0.05);
        assertEquals(plain.tokens() - CONVERSATIONS, plain.passes());
    }

    private record Run(List<String> answers, long tokens, long passes) {}

    private static Run run(Path folder, JsonNode golden, EngineOptions.Speculation speculation) {
        EngineOptions options =
                new EngineOptions(BackendChoice.AUTO, 2, KvFormat.F32, 512, 1, 128, 16, 0, 2048, 0, speculation, false);
        List<String> answers = new ArrayList<>();
        try (Engine engine =
                EngineLoader.load(new Options(folder, List.of(), options, Variables.defaults()), () -> {})) {
            for (int i = 0; i < CONVERSATIONS; i++) {
                List<Integer> ids = new ArrayList<>();
                golden.get(i).get("prompt_ids").forEach(id -> ids.add(id.asInt()));
                Collector collector = new Collector();
                var unused = engine.generate(
                        EngineFixture.request(
                                new Prompt.Tokens(ids), 200, 1, EngineFixture.seeded(0, 1), List.of()),
                        collector);
                answers.add(collector.awaitEnd().text());
            }
            Map<String, Object> status = engine.status();
            return new Run(answers, number(status, "tokens_generated"), number(status, "decode_passes"));
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
