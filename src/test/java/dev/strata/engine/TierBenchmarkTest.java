package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.device.fake.FakeDevice;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The benchmarks of the prompt path, on small sizes and without a card. */
class TierBenchmarkTest {
    private static final Path TINY = Path.of("models/strata-tiny/strata-tiny.gguf");

    @Test
    void theLinkIsMeasuredForEveryArm() {
        TierOptions standard = TierOptions.DEFAULTS;
        TierOptions tiers = new TierOptions(
                0,
                0,
                0,
                20,
                Optional.empty(),
                true,
                standard.residence(),
                0,
                Optional.empty(),
                Optional.empty(),
                standard.adaptation(),
                List.of(), TierOptions.NgramAccess.AUTO);
        Options options = new Options(
                Path.of("none"),
                List.of(),
                EngineOptions.DEFAULTS,
                tiers,
                Variables.defaults().with(Variable.STAGER_THREADS, "2").with(Variable.PREFILL_RING, "8"));
        List<Map<String, Object>> results = new ArrayList<>();
        try (FakeDevice device = FakeDevice.threaded(1 << 28)) {
            new LinkBenchmark(options, 2, 24, 1)
                    .run(device, PromptArm.parse("none/pieces,none/old,0/reference"), results::add);
            assertEquals(List.of(), device.leaks());
        }
        List<Map<String, Object>> streams =
                results.stream().filter(row -> "stream".equals(row.get("what"))).toList();
        assertEquals(
                List.of("none/pieces", "none/old", "all/reference"),
                streams.stream().map(row -> row.get("arm")).toList());
        for (Map<String, Object> row : streams) {
            assertTrue(number(row, "gb_per_s") > 0, row.toString());
            assertEquals(20, row.get("slots"));
            double lent = number(row, "lent");
            double blob = 2_764_816 / 256 * 256 + 256;
            assertEquals((48 - 20 + lent) * blob / 1e9, number(row, "gb_per_pass"), 1e-3, row.toString());
        }
    }

    @Test
    void promptsOfAModelGiveRatesAndTheSameHash() {
        assumeTrue(Files.exists(TINY), TINY + " is not there");
        EngineOptions standard = EngineOptions.DEFAULTS;
        EngineOptions engine = new EngineOptions(
                BackendChoice.CPU,
                2,
                KvFormat.F16,
                256,
                1,
                32,
                1,
                0,
                standard.checkpointEvery(),
                0,
                EngineOptions.Speculation.OFF,
                true);
        assumeTrue(Backends.whyNoCpu().isEmpty(), Backends.whyNoCpu());
        Options options = new Options(TINY, List.of(), engine, Variables.defaults());
        List<Map<String, Object>> results = new ArrayList<>();
        new PromptBenchmark(options, 48, 16).run(PromptArm.parse("none/pieces,0/reference"), results::add);
        assertEquals(2, results.size());
        assertEquals(results.get(0).get("hash"), results.get(1).get("hash"));
        assertTrue(results.get(0).get("long_tok_per_s") instanceof List<?> rates && rates.size() == 2);
        assertTrue(results.get(0).get("short_tok_per_s") instanceof List<?> rates && rates.size() == 3);
    }

    private static double number(Map<String, Object> row, String name) {
        return row.get(name) instanceof Number number ? number.doubleValue() : Double.NaN;
    }
}
