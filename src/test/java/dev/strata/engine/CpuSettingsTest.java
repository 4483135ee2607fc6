package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.cpu.CpuSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the variables of the CPU backend and the engine's options make of its settings. */
class CpuSettingsTest {
    private static CpuSettings settings(EngineOptions engine, Map<String, String> environment) {
        return Backends.cpuSettings(new Options(Path.of("model.gguf"), List.of(), engine, Variables.read(environment)));
    }

    @Test
    void copiesArePackedUnlessResultsWouldDependOnTheRoom() {
        EngineOptions plain = EngineOptions.DEFAULTS;
        assertTrue(settings(plain, Map.of()).packedWeights());
        assertFalse(settings(plain, Map.of("STRATA_CPU_PACKED_WEIGHTS", "0")).packedWeights());
        assertFalse(settings(plain.withDeterministic(true), Map.of()).packedWeights());
    }

    @Test
    void weightsAreCopiedUnlessToldOtherwise() {
        assertTrue(settings(EngineOptions.DEFAULTS, Map.of()).hugeWeights());
        assertFalse(settings(EngineOptions.DEFAULTS, Map.of("STRATA_CPU_HUGE_WEIGHTS", "0"))
                .hugeWeights());
    }
}
