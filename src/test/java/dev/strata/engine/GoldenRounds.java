package dev.strata.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Prompt;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The first twelve golden conversations of strata-tiny, answered by an engine any number of times. */
final class GoldenRounds {
    private static final int CONVERSATIONS = 12;

    /** What one round wrote, and how long its answers took behind their first tokens. */
    record Round(List<String> answers, long tokens, long passes, double millis) {}

    record Result(List<Round> rounds) {
        Round bestRound() {
            return rounds.stream()
                    .min(Comparator.comparingDouble(Round::millis))
                    .orElseThrow();
        }
    }

    private GoldenRounds() {}

    static EngineOptions options(BackendChoice backend, KvFormat kv, EngineOptions.Speculation speculation) {
        return new EngineOptions(backend, 2, kv, 512, 1, 128, 16, 0, 2048, 0, speculation, false);
    }

    static Result run(Path model, Path golden, EngineOptions options, int rounds) throws IOException {
        JsonNode conversations = new ObjectMapper().readTree(golden.toFile());
        List<Round> done = new ArrayList<>();
        try (Engine engine =
                EngineLoader.load(new Options(model, List.of(), options, Variables.defaults()), () -> {})) {
            long tokens = 0;
            long passes = 0;
            for (int i = 0; i < rounds; i++) {
                Round all = round(engine, conversations);
                done.add(new Round(all.answers(), all.tokens() - tokens, all.passes() - passes, all.millis()));
                tokens = all.tokens();
                passes = all.passes();
            }
        }
        return new Result(done);
    }

    /** Answers all conversations; the numbers are those since the engine began. */
    private static Round round(Engine engine, JsonNode conversations) {
        List<String> answers = new ArrayList<>();
        double millis = 0;
        for (int i = 0; i < CONVERSATIONS; i++) {
            List<Integer> ids = new ArrayList<>();
            conversations.get(i).get("prompt_ids").forEach(id -> ids.add(id.asInt()));
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
        return new Round(answers, number(status, "tokens_generated"), number(status, "decode_passes"), millis);
    }

    private static long number(Map<String, Object> status, String name) {
        Object value = status.get(name);
        if (value == null && status.get("counters") instanceof Map<?, ?> counters) {
            value = counters.get(name);
        }
        return ((Number) Objects.requireNonNull(value, () -> name + " is not in " + status)).longValue();
    }
}
