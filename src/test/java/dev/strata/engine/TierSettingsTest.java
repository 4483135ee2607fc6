package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.ExpertSource;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.Layouts;
import dev.strata.expert.PatternSource;
import dev.strata.expert.TieredExpertSource;
import dev.strata.model.HiddenNorm;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How many rows the passes of a prompt have. */
class TierSettingsTest {
    private static Options options(EngineOptions engine, Map<String, String> environment) {
        return new Options(Path.of("model.gguf"), List.of(), engine, Variables.read(environment));
    }

    private static int onCard(Options options) {
        try (FakeDevice device = FakeDevice.threaded(1 << 20)) {
            return TierSettings.chunk(options, device);
        }
    }

    @Test
    void cardsReadLargePassesUnlessToldOtherwise() {
        Options plain = options(EngineOptions.DEFAULTS, Map.of());
        assertEquals(8192, onCard(plain));
        assertEquals(2048, onCard(options(EngineOptions.DEFAULTS, Map.of("STRATA_PREFILL_AUTO_MAX", "2048"))));
        assertEquals(300, onCard(options(EngineOptions.DEFAULTS.withChunk(300), Map.of())));
        assertEquals(1024, onCard(plain.withTiers(plain.tiers().withPrefill("1024"))));
        assertEquals(16_384, onCard(plain.withTiers(plain.tiers().withPrefill("auto:16384"))));
    }

    @Test
    void missedExpertsAreLeftOutOnlyOnRequest() {
        Map<String, String> skip = Map.of("STRATA_ROUTE_TAIL_SKIP", "7");
        assertEquals(0, TierSettings.tailSkip(options(EngineOptions.DEFAULTS, Map.of())));
        assertEquals(7, TierSettings.tailSkip(options(EngineOptions.DEFAULTS, skip)));
        assertEquals(
                7, TierSettings.misses(options(EngineOptions.DEFAULTS, skip)).tailSkip());
        assertEquals(0, TierSettings.tailSkip(options(EngineOptions.DEFAULTS.withDeterministic(true), skip)));
    }

    @Test
    void theDraftLayersNormIsASwitch() {
        assertEquals(HiddenNorm.WHOLE, TierSettings.hiddenNorm(options(EngineOptions.DEFAULTS, Map.of())));
        Map<String, String> each = Map.of("STRATA_MTP_HIDDEN_NORM", "stream");
        assertEquals(HiddenNorm.PER_STREAM, TierSettings.hiddenNorm(options(EngineOptions.DEFAULTS, each)));
    }

    @Test
    void processorsReadWhatTheChunkSays() {
        assertEquals(512, TierSettings.chunk(options(EngineOptions.DEFAULTS, Map.of()), null));
        assertEquals(300, TierSettings.chunk(options(EngineOptions.DEFAULTS.withChunk(300), Map.of()), null));
    }

    @Test
    void processorsThatReadExpertsFromFilesReadLongerPasses() {
        ExpertSource pattern = new PatternSource(Layouts.small(1, 2));
        Options plain = options(EngineOptions.DEFAULTS, Map.of());
        try (TieredExpertSource files = TieredExpertSource.file(pattern)) {
            assertEquals(1024, TierSettings.rowsFromFiles(plain, files));
            assertEquals(
                    0, TierSettings.rowsFromFiles(options(EngineOptions.DEFAULTS.withChunk(300), Map.of()), files));
        }
        assertEquals(0, TierSettings.rowsFromFiles(plain, pattern));
    }
}
