package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.api.GenerateRequest;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.api.TokenLogprob;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** In deterministic mode an answer is the same, to the last bit of its log probabilities, whoever is answered beside it. */
class NeighboursTest {
    private static final Path TINY = Path.of("models/strata-tiny/strata-tiny.gguf");

    private static GenerateRequest request(String text, int tokens) {
        return new GenerateRequest(
                new Prompt.Text(text),
                new SamplingOptions(0.8f, null, 0.95f, null, null, null, null, null, 5L, Map.of()),
                new OutputFormat.Text(),
                tokens,
                List.of(),
                0,
                1,
                true,
                false,
                false,
                null);
    }

    private static List<Float> logprobs(Collector collector) {
        List<Float> values = new ArrayList<>();
        for (TokenLogprob token : collector.awaitEnd().logprobs) {
            values.add(token.logprob());
        }
        return values;
    }

    @ParameterizedTest
    @EnumSource(names = {"CPU", "REFERENCE"})
    void anAnswerDoesNotDependOnItsNeighbours(BackendChoice backend) {
        assumeTrue(Files.exists(TINY), TINY + " is not there");
        assumeTrue(backend != BackendChoice.CPU || Backends.whyNoCpu().isEmpty(), Backends.whyNoCpu());
        EngineOptions options = new EngineOptions(
                backend, 2, KvFormat.F16, 512, 4, 48, 16, 0, 2048, 0, EngineOptions.Speculation.DEFAULTS, true);
        int tokens = backend == BackendChoice.CPU ? 24 : 6;
        String text = "A river is a large natural stream of water. A lake is a body of water.";
        try (Engine engine = EngineLoader.load(new Options(TINY, List.of(), options, Variables.defaults()), () -> {})) {
            Collector alone = new Collector();
            engine.generate(request(text, tokens), alone);
            List<Float> expected = logprobs(alone);
            assertEquals(tokens, expected.size());
            List<Collector> neighbours = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                neighbours.add(new Collector());
                engine.generate(
                        request("Number " + i + ": " + text.substring(7 * i), 2 * tokens), neighbours.getLast());
            }
            Collector among = new Collector();
            engine.generate(request(text, tokens), among);
            assertEquals(expected, logprobs(among));
            assertEquals(alone.text(), among.text());
            neighbours.forEach(Collector::awaitEnd);
        }
    }
}
