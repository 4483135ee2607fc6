package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arms of the file tier's table. */
class FileArmTest {
    @Test
    void armsAreReadFromTheirNames() {
        assertEquals(
                List.of(
                        new FileArm(true, 8, true, 8192, false),
                        new FileArm(false, 4, false, 8192, false),
                        new FileArm(false, 8, true, 32_768, false),
                        new FileArm(false, 16, false, 8192, true)),
                FileArm.parse("mapped, 4, 8@32768+view, 16+decode"));
        assertEquals(9, FileArm.parse("all").size());
        assertEquals(
                "batch 8, view kept, chunks of 8192",
                FileArm.parse("8+view").getFirst().name());
        assertEquals("mapped, decode", FileArm.parse("mapped+decode").getFirst().name());
    }

    @ParameterizedTest
    @ValueSource(strings = {"fast", "0", "33", "8@0", "8@1@2", "8+quick", ""})
    void othersAreRefused(String name) {
        assertThrows(IllegalArgumentException.class, () -> FileArm.parse(name));
    }

    @Test
    void anArmSetsTierBatchAndView() {
        Options options = new Options(Path.of("m.gguf"), List.of(), EngineOptions.DEFAULTS, Variables.defaults());
        Options mapped = FileArm.parse("mapped").getFirst().apply(options, 3, 512);
        assertEquals(TierOptions.Residence.MAPPED, mapped.tiers().residence());
        assertEquals(512, mapped.engine().chunk());
        Options read = FileArm.parse("4").getFirst().apply(options, 3, 512);
        assertEquals(3, read.tiers().residentBudgetGib());
        assertEquals(4, read.variables().whole(Variable.STAGER_BATCH).orElseThrow());
        assertEquals(false, read.variables().flag(Variable.KEEP_MAPPING));
        assertEquals(
                true,
                FileArm.parse("4+view")
                        .getFirst()
                        .apply(options, 3, 512)
                        .variables()
                        .flag(Variable.KEEP_MAPPING));
    }
}
