package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.model.Model;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CacheBudgetTest {
    private static final Path TINY = Path.of("models/strata-tiny/strata-tiny.gguf");

    @ParameterizedTest
    @ValueSource(ints = {4, 64})
    void theCacheTakesWhatItWasGiven(int mib) {
        assumeTrue(Files.exists(TINY), TINY + " is not there");
        EngineOptions engine = new EngineOptions(
                BackendChoice.REFERENCE,
                1,
                KvFormat.F16,
                512,
                1,
                64,
                4,
                8,
                512,
                -1,
                EngineOptions.Speculation.DEFAULTS,
                false);
        Options asked = new Options(TINY, List.of(), engine, Variables.defaults());
        assertEquals(asked, CacheBudget.apply(asked), "nothing changes without a budget");
        Options options = CacheBudget.apply(asked.withCacheBytes((long) mib << 20));
        try (ModelSession session = ModelSession.open(options)) {
            Model model = session.model();
            StateMemory memory = StateMemory.of(model, options.engine(), session.context());
            double given = mib * 1048576.0;
            assertTrue(
                    memory.cacheBytes() <= given * 1.1 && memory.cacheBytes() > given * 0.8,
                    memory.cacheBytes() + " of " + given);
            assertTrue(memory.cacheStates() > 0 && memory.cacheTokens() >= 512, memory.toString());
        }
    }
}
