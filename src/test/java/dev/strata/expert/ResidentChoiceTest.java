package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertSource.Admitted;
import dev.strata.synth.SkewedRouting;
import java.util.Locale;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Experts in RAM that follow their use. */
class ResidentChoiceTest {
    private final ArenaLayout layout = Layouts.small(2, 8);

    private TieredExpertSource half() {
        PatternSource rest = new PatternSource(layout);
        long budget = layout.stride(0) * 8 + layout.maxStride() + layout.layers() * 4096L;
        TieredExpertSource source =
                TieredExpertSource.budget(rest, ExpertProfile.even(layout).ranking(), budget, 1, LoadProgress.NONE);
        assertFalse(source.adapts());
        assertNull(source.admit(0, 7));
        source.followUse(ExpertProfile.even(layout), SlotAdaptation.DEFAULTS);
        assertTrue(source.adapts());
        return source;
    }

    private static boolean holds(TieredExpertSource source, int layer, int expert) {
        int place = source.place(layer, expert);
        return place >= 0
                && PatternSource.holds(
                        source.layout(layer),
                        layer,
                        expert,
                        Objects.requireNonNull(source.arena()).blob(layer, place));
    }

    @Test
    void aMissedExpertTakesThePlaceOfTheLeastUsed() {
        try (TieredExpertSource source = half()) {
            source.used(0, new int[] {0, 1, 2, 0}, 4);
            source.used(0, new int[] {6, 0}, 2);
            Admitted admitted = Objects.requireNonNull(source.admit(0, 6));
            assertEquals(3, admitted.loser(), "the one that was never used");
            assertEquals(-1, source.place(0, 6), "nobody reads a place that is being filled");
            source.copyBlobs(0, new int[] {6}, 1, new java.lang.foreign.MemorySegment[] {admitted.place()});
            source.settle(0, 6, true);
            assertTrue(holds(source, 0, 6));
            assertNull(source.view(0, 3));
            assertNotNull(source.view(0, 6));
            TieredExpertSource.ResidentFigures figures = Objects.requireNonNull(source.figures());
            assertEquals(6, figures.usage().lookups());
            assertEquals(5, figures.usage().hits());
            assertEquals(layout.layout(0).blobBytes(), figures.usage().missedOnce());
            assertEquals(1, figures.swaps());
            assertTrue(Objects.requireNonNull(source.profile())
                    .ranking()
                    .subList(0, 8)
                    .contains(new ExpertKey(0, 6)));
        }
    }

    @Test
    void whatAStepUsesStaysAndBusyExpertsAreNotReplaced() {
        try (TieredExpertSource source = half()) {
            source.used(0, new int[] {0, 1, 2, 3, 5}, 5);
            assertNull(source.admit(0, 5), "all places are in use");
            for (int i = 0; i < 3; i++) {
                source.used(0, new int[] {0, 1, 2, 3}, 4);
            }
            source.used(0, new int[] {4}, 1);
            assertNull(source.admit(0, 4), "one use against several");
        }
    }

    @Test
    void aPlaceThatCouldNotBeFilledGoesToTheNextOne() {
        try (TieredExpertSource source = half()) {
            source.used(1, new int[] {7}, 1);
            Admitted first = Objects.requireNonNull(source.admit(1, 7));
            source.settle(1, 7, false);
            assertEquals(-1, source.place(1, 7));
            assertEquals(-1, source.place(1, first.loser()));
            source.used(1, new int[] {6}, 1);
            Admitted second = Objects.requireNonNull(source.admit(1, 6));
            assertEquals(-1, second.loser());
            assertEquals(first.place().address(), second.place().address());
        }
    }

    /** On made routing, what lies in RAM is found more often than with a choice that stays and than with the least recently used making room. */
    @ParameterizedTest
    @CsvSource({"32, 0.7, 0.5", "64, 0.7, 0.5", "64, 0.5, 0.3", "96, 0.5, 0.5"})
    void whatLiesInRamIsFoundMoreOften(int placesOfALayer, double skew, double locality) {
        ArenaLayout model = Layouts.of(4, 128, 32, 2, dev.strata.format.QuantType.F32, false);
        SkewedRouting routing = new SkewedRouting(4, 128, 8, skew, locality, 11);
        RoutingTrace trace = new RoutingTrace();
        long budget = 4L * placesOfALayer * model.stride(0) + model.maxStride() + 4 * 4096L;
        try (TieredExpertSource source = TieredExpertSource.budget(
                new PatternSource(model), ExpertProfile.even(model).ranking(), budget, 1, LoadProgress.NONE)) {
            source.followUse(ExpertProfile.even(model), SlotAdaptation.DEFAULTS);
            long lookups = 0;
            long hits = 0;
            for (int step = 0; step < 1200; step++) {
                int[][] chosen = routing.step();
                if (step == 300) {
                    ExpertUsage usage = Objects.requireNonNull(source.figures()).usage();
                    lookups = usage.lookups();
                    hits = usage.hits();
                }
                for (int layer = 0; layer < 4; layer++) {
                    source.used(layer, chosen[layer], 8);
                    for (int expert : chosen[layer]) {
                        trace.choose(layer, expert);
                        if (source.place(layer, expert) < 0 && source.admit(layer, expert) != null) {
                            source.settle(layer, expert, true);
                        }
                    }
                }
                trace.endStep();
            }
            ExpertUsage usage = Objects.requireNonNull(source.figures()).usage();
            double followed = (usage.hits() - hits) / (double) (usage.lookups() - lookups);
            CacheReplay replay = new CacheReplay(model, trace, 300);
            double fixed = replay.fixed(4 * placesOfALayer);
            double oldest = replay.leastRecentlyUsed(4 * placesOfALayer);
            String all = String.format(
                    Locale.ROOT,
                    "%d places, skew %.1f, locality %.1f: followed %.3f, static %.3f, least recently used %.3f",
                    placesOfALayer,
                    skew,
                    locality,
                    followed,
                    fixed,
                    oldest);
            System.out.println(all);
            assertTrue(followed > fixed && followed > oldest, all);
        }
    }

    /** Whatever steps ask for, every expert with a place has its own bytes there, and no place has two. */
    @Test
    void placesAlwaysHoldWhatTheySay() {
        SplittableRandom random = new SplittableRandom(11);
        try (TieredExpertSource source = half()) {
            for (int step = 0; step < 300; step++) {
                int layer = step % 2;
                int[] chosen = random.ints(3, 0, 8).toArray();
                source.used(layer, chosen, 3);
                for (int expert : chosen) {
                    Admitted admitted = source.place(layer, expert) >= 0 ? null : source.admit(layer, expert);
                    if (admitted != null) {
                        boolean read = random.nextInt(5) > 0;
                        if (read) {
                            source.copyBlob(layer, expert, admitted.place());
                        }
                        source.settle(layer, expert, read);
                    }
                }
                int placed = 0;
                java.util.Set<Integer> places = new java.util.HashSet<>();
                for (int expert = 0; expert < 8; expert++) {
                    if (source.place(layer, expert) >= 0) {
                        assertTrue(holds(source, layer, expert));
                        assertTrue(places.add(source.place(layer, expert)));
                        placed++;
                    }
                }
                assertTrue(placed <= 4);
            }
        }
    }
}
