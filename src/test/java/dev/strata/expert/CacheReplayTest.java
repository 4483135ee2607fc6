package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;
import dev.strata.synth.SkewedRouting;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The adaptive cache against a placement that stays and against the least recently used expert, on the same made routing. */
class CacheReplayTest {
    private static final int LAYERS = 6;
    private static final int EXPERTS = 128;
    private static final int USED = 8;

    @ParameterizedTest
    @CsvSource({"32, 0.7, 0.5", "64, 0.7, 0.5", "32, 0.5, 0.3", "64, 1, 0.6", "96, 0.5, 0.5"})
    void theAdaptiveCacheHitsMoreOften(int slotsOfALayer, double skew, double locality) {
        RoutingTrace trace = trace(skew, locality, 1500);
        CacheReplay replay = new CacheReplay(layout(), trace, 300);
        int slots = slotsOfALayer * LAYERS;
        CacheReplay.Result result = replay.adaptive(slots, SlotAdaptation.DEFAULTS);
        double adaptive = result.hitRate();
        double fixed = replay.fixed(slots);
        double lru = replay.leastRecentlyUsed(slots);
        String all = "adaptive " + result + ", static " + fixed + ", least recently used " + lru;
        assertTrue(adaptive > fixed && adaptive > lru, all);
        double optimal = replay.optimal(slots);
        assertTrue(optimal > adaptive && optimal < 1, all + ", optimal " + optimal);
    }

    /** One layer, four experts, slots for 0 and 1: 2 comes again before 1, 3 never does. */
    @Test
    void theOptimumKeepsWhatIsUsedSoonest() {
        RoutingTrace trace = new RoutingTrace();
        for (int expert : new int[] {0, 2, 3, 2, 0, 1}) {
            trace.choose(0, expert);
            trace.endStep();
        }
        CacheReplay replay = new CacheReplay(Layouts.small(1, 4), trace, 0);
        assertEquals(3 / 6.0, replay.optimal(2), "0, then 2 and 0 again");
        assertEquals(2 / 6.0, replay.optimal(1), "0, then 2 again");
        assertEquals(1, replay.optimal(4));
    }

    @ParameterizedTest
    @CsvSource({"46", "78", "143", "208"})
    void aFewStepsAreEnoughToLearn(int slotsOfALayer) {
        ArenaLayout many = Layouts.small(3, 512);
        RoutingTrace trace = trace(new SkewedRouting(3, 512, 10, 0.7, 0.5, 5), 135);
        CacheReplay replay = new CacheReplay(many, trace, 75);
        double adaptive =
                replay.adaptive(3 * slotsOfALayer, SlotAdaptation.DEFAULTS).hitRate();
        double fixed = replay.fixed(3 * slotsOfALayer);
        double lru = replay.leastRecentlyUsed(3 * slotsOfALayer);
        assertTrue(adaptive > fixed && adaptive > lru, adaptive + ", " + fixed + ", " + lru);
    }

    @Test
    void evenRoutingCostsFewSwaps() {
        CacheReplay replay = new CacheReplay(layout(), trace(0, 0, 1500), 300);
        CacheReplay.Result result = replay.adaptive(64 * LAYERS, SlotAdaptation.DEFAULTS);
        assertTrue(result.hitRate() > 0.48, result.toString());
        assertTrue(result.swaps() < 0.2 * LAYERS * USED / 2, result.toString());
    }

    @Test
    void aCacheOfEverythingAlwaysHits() {
        CacheReplay replay = new CacheReplay(layout(), trace(0.7, 0.5, 40), 20);
        assertEquals(
                1, replay.adaptive(LAYERS * EXPERTS, SlotAdaptation.DEFAULTS).hitRate());
        assertEquals(1, replay.fixed(LAYERS * EXPERTS));
        assertTrue(replay.leastRecentlyUsed(LAYERS * EXPERTS) < 1, "what was never used is not there");
        assertEquals(0, replay.leastRecentlyUsed(0));
    }

    private static RoutingTrace trace(double skew, double locality, int steps) {
        return trace(new SkewedRouting(LAYERS, EXPERTS, USED, skew, locality, 11), steps);
    }

    private static RoutingTrace trace(SkewedRouting routing, int steps) {
        RoutingTrace trace = new RoutingTrace();
        for (int step = 0; step < steps; step++) {
            int[][] chosen = routing.step();
            for (int layer = 0; layer < chosen.length; layer++) {
                for (int expert : chosen[layer]) {
                    trace.choose(layer, expert);
                }
            }
            trace.endStep();
        }
        return trace;
    }

    private static ArenaLayout layout() {
        List<ExpertLayout> layers = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            layers.add(new ExpertLayout(layer, EXPERTS, 64, 32, QuantType.Q4_0, QuantType.Q4_0, QuantType.Q4_0, false));
        }
        return new ArenaLayout(layers);
    }
}
