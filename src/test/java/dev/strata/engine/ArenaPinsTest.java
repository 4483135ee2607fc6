package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaLoader;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.Layouts;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.PatternSource;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.TieredExpertSource;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When an arena is registered, by the variables. */
class ArenaPinsTest {
    private static final int LAYERS = 4;

    @ParameterizedTest
    @CsvSource({
        "STRATA_PIN_AHEAD, 1, 4, 4",
        "STRATA_PIN_AHEAD, 0, 0, 4",
        "STRATA_ARENA_PIN_GIB, none, 0, 0",
        "STRATA_PIN_BY_NEED, 1, 4, 4"
    })
    void theArenaIsRegisteredWhileItIsFilledOrBehindThat(String variable, String value, int ahead, int ranges) {
        Options options = new Options(
                Path.of("m.gguf"), List.of(), EngineOptions.DEFAULTS, Variables.read(Map.of(variable, value)));
        ArenaLayout layout = Layouts.small(LAYERS, 4);
        try (FakeDevice device = FakeDevice.threaded(1)) {
            ArenaPins pins = new ArenaPins(device, options);
            try (TieredExpertSource source = filled(layout, pins)) {
                assertEquals(ahead, device.count(FakeCall.Kind.REGISTER));
                for (int load = 0; load < 2; load++) {
                    try (PinnedRanges pinned = pins.of(source)) {
                        assertEquals(ranges, pinned.count());
                    }
                }
                assertEquals(List.of(), device.leaks());
            }
            try (TieredExpertSource unused = filled(layout, pins)) {
                assertTrue(unused.arena() != null);
                pins.close();
                assertEquals(List.of(), device.leaks());
            }
        }
    }

    private static TieredExpertSource filled(ArenaLayout layout, ArenaPins pins) {
        ExpertArena arena = ExpertArena.allocate(layout);
        ArenaLoader.fill(new PatternSource(layout), arena, 2, LoadProgress.NONE, pins.gate(arena, true));
        return TieredExpertSource.resident(arena);
    }
}
