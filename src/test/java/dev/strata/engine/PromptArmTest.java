package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.decode.PlacementSettings;
import dev.strata.prefill.StagerSizing;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** From flags, variables and arms to settings of the tiers. */
class PromptArmTest {
    private static final Options PLAIN =
            new Options(Path.of("m.gguf"), List.of(), EngineOptions.DEFAULTS, Variables.defaults());

    @Test
    void armsAreWrittenAsPinAndSizing() {
        assertEquals(9, PromptArm.parse("all").size());
        assertEquals(
                List.of("none/pieces", "8/old", "all/reference8"),
                PromptArm.parse("none/pieces, 8/old,0/reference8").stream()
                        .map(PromptArm::name)
                        .toList());
        assertThrows(IllegalArgumentException.class, () -> PromptArm.parse("none"));
        assertThrows(IllegalArgumentException.class, () -> PromptArm.parse("none/fast"));
        assertThrows(IllegalArgumentException.class, () -> PromptArm.parse("most/old"));
    }

    @Test
    void armsMayDifferInChunkAndNumbers() {
        PromptArm arm =
                PromptArm.parse("none/pieces@32768+ring=96+threads=3+timing").getFirst();
        assertEquals("none/pieces@32768+ring=96+threads=3", arm.name());
        Options set = arm.apply(PLAIN);
        assertEquals("32768", set.tiers().prefill().orElseThrow());
        assertEquals(OptionalInt.of(96), TierSettings.placement(set).stager().ringSlots());
        assertTrue(TierSettings.placement(set).timing());
        Options resident = PromptArm.parse("0/pieces+resident")
                .getFirst()
                .apply(PLAIN.withTiers(PLAIN.tiers().withCacheSlots(9)));
        assertEquals(-1, resident.tiers().cacheSlots());
        List<String> identity =
                PromptArm.parse("identity").stream().map(PromptArm::name).toList();
        assertTrue(identity.containsAll(
                PromptArm.parse("all").stream().map(PromptArm::name).toList()));
        assertTrue(identity.containsAll(List.of("none/pieces+ring=96", "none/pieces@32768", "all/pieces+slots=1500")));
        assertThrows(IllegalArgumentException.class, () -> PromptArm.parse("none/pieces+speed=3"));
        assertThrows(IllegalArgumentException.class, () -> PromptArm.parse("none/pieces@100"));
    }

    @Test
    void anArmSetsItsVariables() {
        PlacementSettings old = TierSettings.placement(new PromptArm("none", "old").apply(PLAIN));
        assertEquals(StagerSizing.StageResident.OFF, old.stager().stageResident());
        PlacementSettings eight = TierSettings.placement(new PromptArm("8", "reference8").apply(PLAIN));
        assertEquals(StagerSizing.Named.REFERENCE, eight.stager().sizing());
        assertEquals(OptionalInt.of(8), eight.stager().threads());
        Options pieces = new PromptArm("0", "pieces").apply(PLAIN);
        assertEquals("0", pieces.variables().text(Variable.ARENA_PIN_GIB).orElseThrow());
        assertEquals(
                StagerSizing.Named.PIECES,
                TierSettings.placement(pieces).stager().sizing());
    }

    @Test
    void variablesReachTheSettings() {
        Variables variables = Variables.read(Map.of(
                "STRATA_STAGE_RESIDENT", "1",
                "STRATA_STAGER_RING", "12",
                "STRATA_STAGER_BATCH", "4",
                "STRATA_PREFILL_RING", "200",
                "STRATA_PREFILL_STREAM_MIN", "64",
                "STRATA_PREFILL_TIMING", "1",
                "STRATA_STAGER_SLEEP", "0"));
        PlacementSettings settings = TierSettings.placement(PLAIN.withVariables(variables));
        assertEquals(StagerSizing.StageResident.FORCED, settings.stager().stageResident());
        assertEquals(OptionalInt.of(12), settings.stager().buffers());
        assertEquals(OptionalInt.of(4), settings.stager().batch());
        assertEquals(OptionalInt.of(200), settings.stager().ringSlots());
        assertEquals(64, settings.streamFrom());
        assertTrue(settings.timing());
        assertFalse(settings.stagerSleeps());
        PlacementSettings plain = TierSettings.placement(PLAIN);
        assertEquals(StagerSizing.StageResident.BY_SOURCE, plain.stager().stageResident());
        assertEquals(1024, plain.streamFrom());
        assertEquals(Integer.MAX_VALUE, plain.slots());
        assertEquals(700L << 20, plain.reserve());
        assertEquals(
                TierOptions.DEFAULTS.adaptation().every(), plain.adaptation().every());
    }
}
