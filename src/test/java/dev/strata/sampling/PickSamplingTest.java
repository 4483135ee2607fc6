package dev.strata.sampling;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Picks;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is left of logits on a device gives the tokens that all logits give. */
class PickSamplingTest {
    private static final int VOCABULARY = 3000;

    private static SamplingSettings settings(float temperature, int topK, float topP, float minP) {
        return new SamplingSettings(temperature, topK, topP, minP, 0, 0, 1, -1, 77, Map.of());
    }

    private static int[] tokens(SamplingSettings settings, double size, int count) {
        int[] unknown = {0};
        Sampler sampler = new Sampler(settings, new SamplerScratch(VOCABULARY), null, -1);
        assertTrue(sampler.picks());
        Random random = new Random(5);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * VOCABULARY, 64);
            MemorySegment wanted = arena.allocate(4L * Picks.SETTINGS, 64);
            MemorySegment results = arena.allocate(4L * Picks.COLUMNS, 64);
            for (int step = 0; step < count; step++) {
                for (int token = 0; token < VOCABULARY; token++) {
                    logits.setAtIndex(JAVA_FLOAT, token, (float) (size * random.nextGaussian()));
                }
                sampler.pickSettings(0, wanted, 0);
                Picks.compute(logits, VOCABULARY, wanted, 1, results);
                int picked = sampler.sample(new Picks(results), 0);
                int expected = sampler.sample(logits, 0);
                unknown[0] += picked < 0 ? 1 : 0;
                assertEquals(expected, picked < 0 ? expected : picked, settings + ", step " + step);
                sampler.accept(expected);
            }
        }
        return unknown;
    }

    @Test
    void theSameTokenFollows() {
        for (SamplingSettings settings : List.of(
                settings(0, 0, 1, 0),
                settings(0.7f, 20, 0.8f, 0),
                settings(1, 64, 1, 0.05f),
                settings(1, 40, 0.95f, 0.1f),
                settings(1.3f, 0, 1, 0),
                settings(0.2f, 0, 0.9f, 0))) {
            assertEquals(0, tokens(settings, 5, 40)[0], settings.toString());
        }
    }

    @Test
    void flatDistributionsNeedAllLogits() {
        assertEquals(10, tokens(settings(1, 0, 0.9f, 0), 0.1, 10)[0]);
    }

    @Test
    void whatChangesLogitsNeedsThemAll() {
        SamplingSettings biased = new SamplingSettings(1, 0, 1, 0, 0, 0, 1, -1, 0, Map.of(3, 2f));
        assertFalse(new Sampler(biased, new SamplerScratch(9), null, -1).picks());
        assertFalse(new Sampler(settings(1, 0, 1, 0), new SamplerScratch(9), null, 0).picks());
        assertFalse(new Sampler(settings(1, 200, 1, 0), new SamplerScratch(9), null, -1).picks());
    }
}
