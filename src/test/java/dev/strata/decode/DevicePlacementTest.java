package dev.strata.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.DeviceException;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaLoader;
import dev.strata.expert.ArenaPinner;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.Layouts;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.PatternSource;
import dev.strata.expert.PinPlan;
import dev.strata.expert.PinSetting;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.prefill.ChunkSetting;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whole passes on a fake device: every product reads the blob of its expert, wherever experts lie, and nothing leaks. */
class DevicePlacementTest {
    private static final ArenaLayout MODEL = Layouts.small(5, 48);
    private static final int USED = 6;

    @ParameterizedTest
    @CsvSource({
        // slots, pinned layers, RAM budget in experts (-1: arena), threads
        "240, 5, -1",
        "100, 5, -1",
        "100, 0, -1",
        "100, 2, -1",
        "60,  0, 120",
        "60,  0, 0",
        "40,  3, -1",
    })
    void promptsAndStepsReadTheRightBlobs(int slots, int pinnedLayers, int budget) {
        SplittableRandom random = new SplittableRandom(slots * 31L + pinnedLayers);
        try (World world = new World(slots, pinnedLayers, budget)) {
            for (int round = 0; round < 4; round++) {
                for (int chunk = 0; chunk < 3; chunk++) {
                    world.pass.run(64, random);
                    world.pass.run(1 + round, random);
                }
                world.placement.promptFinished();
                for (int step = 0; step < 12; step++) {
                    world.pass.run(1 + step % 3, random);
                }
                assertEquals(0, world.placement.cache().lent());
                assertEquals(Math.min(slots, 240), world.placement.cache().residents());
            }
            assertEquals(List.of(), world.pass.wrong());
            assertTrue(world.pass.products() > 5000);
            assertTrue(slots >= 240 || world.placement.usage().lookups() > 0);
        }
    }

    @Test
    void everyMissingExpertCrossesTheLinkOnceAChunk() {
        SplittableRandom random = new SplittableRandom(1);
        try (World world = new World(100, 0, -1)) {
            long before = world.placement.scheduler().linkBytes();
            world.pass.run(64, random);
            long streamed = world.placement.scheduler().linkBytes() - before;
            long resident = world.placement.cache().residents();
            assertEquals((240 - resident) * MODEL.maxStride(), streamed);
            assertEquals(Objects.requireNonNull(world.placement.order()).bytes(), streamed);
            assertTrue(world.placement.cache().lent() > 0);
        }
    }

    @Test
    void shortPromptsCopyWhatStepsReadInPlace() {
        SplittableRandom random = new SplittableRandom(1);
        try (World world = new World(100, 5, -1)) {
            long before = world.placement.scheduler().linkBytes();
            world.pass.run(2, random);
            assertEquals(before, world.placement.scheduler().linkBytes());
            world.pass.run(20, random);
            assertTrue(world.placement.scheduler().linkBytes() > before);
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void figuresOfAShortPromptTellWhatCrossedTheLink() {
        try (World world = new World(100, 2, -1)) {
            long before = world.placement.scheduler().linkBytes();
            world.pass.run(20, new SplittableRandom(1));
            long bytes = world.placement.scheduler().linkBytes() - before;
            FetchFigures figures = world.placement.fetchFigures();
            figures.helped(3, 1.5);
            String line = figures.text(20, 50);
            assertTrue(line.startsWith("prefill timing: 20 rows in 50.0 ms"), line);
            assertTrue(line.contains(" " + bytes / MODEL.maxStride() + " missed experts"), line);
            assertTrue(line.endsWith("the processor read experts 3 times in 1.5 ms"), line);
            figures.clear();
            assertTrue(figures.text(20, 50).contains(" 0 missed experts"), "counting begins anew");
        }
    }

    @Test
    void passesAreCapturedWhenNoHostIsNeeded() {
        try (World world = new World(100, 5, -1)) {
            assertTrue(world.placement.capturable(1), "everything is resident or mapped");
            assertFalse(world.placement.capturable(64), "prompts stream");
        }
        try (World world = new World(100, 4, -1)) {
            assertFalse(world.placement.capturable(1));
        }
        try (World world = new World(240, 0, -1)) {
            assertTrue(world.placement.capturable(1));
        }
    }

    @Test
    void aCacheOfTheChosenExpertsLearnsThem() {
        try (World world = new World(5 * USED, 0, -1)) {
            SplittableRandom same = new SplittableRandom(5);
            int seed = same.nextInt();
            for (int step = 0; step < 60; step++) {
                world.pass.run(1, new SplittableRandom(seed));
            }
            assertEquals(List.of(), world.pass.wrong());
            assertTrue(world.placement.swapped() > 0);
            long lookups = world.placement.usage().lookups();
            long hits = world.placement.usage().hits();
            world.pass.run(1, new SplittableRandom(seed));
            world.pass.run(1, new SplittableRandom(seed));
            assertEquals(
                    world.placement.usage().lookups() - lookups,
                    world.placement.usage().hits() - hits,
                    "every choice is resident at last");
        }
    }

    @Test
    void anUnendedLoanGoesBackByItself() {
        SplittableRandom random = new SplittableRandom(2);
        try (World world = new World(100, 5, -1)) {
            world.pass.run(64, random);
            assertTrue(world.placement.cache().lent() > 0);
            for (int step = 0; step < 8; step++) {
                world.pass.run(1, random);
            }
            assertEquals(0, world.placement.cache().lent());
        }
    }

    @Test
    void aClientMayLeaveAtAnyLayer() {
        SplittableRandom random = new SplittableRandom(3);
        for (int pinned : new int[] {0, 2, 5}) {
            try (World world = new World(90, pinned, -1)) {
                for (int until = 0; until < 5; until++) {
                    world.pass.run(64, random, until);
                    world.placement.promptGoesOn();
                    world.pass.run(64, random);
                    world.placement.promptGoesOn();
                    world.pass.run(64, random, until);
                    world.pass.run(64, random);
                    world.pass.run(2, random, until);
                    world.pass.run(2, random);
                    world.placement.promptGoesOn();
                    world.pass.run(64, random);
                    world.placement.promptFinished();
                    world.pass.run(2, random);
                    assertEquals(0, world.placement.cache().lent());
                }
                assertEquals(List.of(), world.pass.wrong());
            }
        }
    }

    @Test
    void copiesOfTheNextChunkRunAhead() {
        SplittableRandom random = new SplittableRandom(7);
        for (int pinned : new int[] {0, 2, 5}) {
            try (World world = new World(90, pinned, -1)) {
                world.placement.promptGoesOn();
                world.pass.run(64, random);
                long order = Objects.requireNonNull(world.placement.order()).bytes();
                world.placement.promptGoesOn();
                world.pass.run(64, random);
                world.pass.run(3, random);
                world.pass.run(64, random);
                assertEquals(3 * order, streamed(world), "what ran ahead was used");
                world.placement.promptGoesOn();
                world.pass.run(64, random);
                world.placement.promptFinished();
                world.pass.run(64, random, 3);
                world.placement.promptGoesOn();
                world.pass.run(64, random);
                world.pass.run(1, random);
                world.placement.promptFinished();
                world.pass.run(1, random);
                assertEquals(0, world.placement.cache().lent());
                world.placement.promptGoesOn();
                world.pass.run(64, random);
                assertEquals(List.of(), world.pass.wrong());
            }
        }
    }

    private static long streamed(World world) {
        return world.placement.scheduler().timing().linkBytes();
    }

    @Test
    void aReadThatFailsAtAnyBlobIsReportedOnce() {
        for (int at : new int[] {0, 1, 7, 50, 150}) {
            SplittableRandom random = new SplittableRandom(at);
            try (World world = new World(40, 0, 0)) {
                world.failing.failIn(at);
                UncheckedIOException failure =
                        assertThrows(UncheckedIOException.class, () -> world.pass.run(64, random));
                assertTrue(String.valueOf(failure.getMessage()).contains("the disk is gone"));
                world.pass.run(64, random);
                world.failing.failIn(at % 5);
                assertThrows(UncheckedIOException.class, () -> world.pass.run(8, random));
                world.placement.promptFinished();
                world.pass.run(8, random);
                assertEquals(List.of(), world.pass.wrong());
            }
        }
    }

    @Test
    void aRefusedCopyEndsThePassOnly() {
        for (int at : new int[] {0, 3, 40, 75, 90, 130}) {
            SplittableRandom random = new SplittableRandom(at);
            try (World world = new World(90, 2, -1)) {
                int copies = (int) world.device.count(FakeCall.Kind.COPY_TO_DEVICE);
                world.device.faults().fail(FakeCall.Kind.COPY_TO_DEVICE, copies + 30 + at);
                int failed = 0;
                for (int i = 0; i < 4; i++) {
                    try {
                        world.placement.promptGoesOn();
                        world.pass.run(64, random);
                    } catch (DeviceException refused) {
                        failed++;
                    }
                }
                assertEquals(1, failed);
                assertEquals(List.of(), world.pass.wrong());
            }
        }
    }

    @Test
    void outOfMemoryAtAnyStepLeaksNothing() {
        for (FakeCall.Kind kind : List.of(
                FakeCall.Kind.ALLOCATE,
                FakeCall.Kind.ALLOCATE_PINNED,
                FakeCall.Kind.NEW_EVENT,
                FakeCall.Kind.NEW_STREAM,
                FakeCall.Kind.FILL,
                FakeCall.Kind.COPY_TO_DEVICE)) {
            for (int call = 0; call < 12; call++) {
                try (FakeDevice device = FakeDevice.threaded(8 << 20);
                        ExpertArena arena = arena()) {
                    device.faults().fail(kind, call);
                    try {
                        ExpertTiers.place(
                                        device,
                                        TieredExpertSource.resident(arena),
                                        PinnedRanges.none(MODEL),
                                        ExpertProfile.even(MODEL),
                                        settings(90),
                                        new MissSettings(true, true, OptionalDouble.empty(), false, 0, 0, null))
                                .close();
                    } catch (DeviceException expected) {
                        assertTrue(String.valueOf(expected.getMessage()).contains("fake"), expected.getMessage());
                    }
                    assertEquals(List.of(), device.leaks(), kind + " " + call);
                }
            }
        }
    }

    @Test
    void activationsOfPromptsLieInTheLoan() {
        SplittableRandom random = new SplittableRandom(8);
        PromptLoan loan = new PromptLoan(new ChunkSetting(OptionalInt.empty(), 512), rows -> rows * 300L, 10);
        for (int pinned : new int[] {0, 5}) {
            try (World world = new World(110, pinned, -1, settings(110, true).withLoan(loan))) {
                assertEquals(512, world.placement.chunk());
                assertEquals(0, world.placement.lentMemory());
                for (int prompt = 0; prompt < 3; prompt++) {
                    for (int chunk = 0; chunk < 3; chunk++) {
                        world.placement.promptGoesOn();
                        world.pass.scribble(512 * 300);
                        world.pass.run(64, random);
                        world.pass.run(2, random);
                    }
                    assertTrue(world.placement.lentMemory() != 0);
                    world.placement.promptFinished();
                    world.pass.run(1, random);
                    assertEquals(0, world.placement.lentMemory());
                    assertEquals(110, world.placement.cache().residents());
                }
                assertEquals(List.of(), world.pass.wrong());
            }
        }
        try (World world = new World(
                Integer.MAX_VALUE, 0, -1, settings(Integer.MAX_VALUE, true).withLoan(loan))) {
            world.pass.scribble(512 * 300);
            world.pass.run(64, random);
            assertEquals(0, world.placement.cache().lent(), "there is room behind the last slot");
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void withoutBorrowingTheRingIsKeptFree() {
        SplittableRandom random = new SplittableRandom(6);
        try (World world = new World(100, 0, -1, false)) {
            int residents = world.placement.cache().residents();
            world.pass.run(64, random);
            assertEquals(0, world.placement.cache().lent());
            assertEquals(residents, world.placement.cache().residents());
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    private static ExpertArena arena() {
        ExpertArena arena = ExpertArena.allocate(MODEL);
        ArenaLoader.fill(new PatternSource(MODEL), arena, 2, LoadProgress.NONE, layer -> {});
        return arena;
    }

    private static PlacementSettings settings(int slots) {
        return settings(slots, true);
    }

    private static PlacementSettings settings(int slots, boolean borrow) {
        StagerSizing.Overrides stager = new StagerSizing.Overrides(
                StagerSizing.StageResident.BY_SOURCE,
                StagerSizing.Named.REFERENCE,
                OptionalInt.of(2),
                OptionalInt.of(6),
                OptionalInt.of(24),
                OptionalInt.of(3));
        return new PlacementSettings(
                slots, 1000, 32, borrow, stager, true, true, new SlotAdaptation(2, 16, 0.8f, 1.5f, 2), 6, null, 4);
    }

    /** A source that fails on demand. */
    private static final class Failing extends PatternSource {
        private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);

        Failing() {
            super(MODEL);
        }

        void failIn(int blobs) {
            left.set(blobs);
        }

        @Override
        public void copyBlob(int layer, int expert, MemorySegment target) {
            if (left.getAndDecrement() == 0) {
                throw new UncheckedIOException(new IOException("the disk is gone"));
            }
            super.copyBlob(layer, expert, target);
        }
    }

    /** A placement over a model of patterns. */
    private static final class World implements AutoCloseable {
        private final FakeDevice device = FakeDevice.threaded(8 << 20);
        private final Failing failing = new Failing();
        private final TieredExpertSource source;
        private final PinnedRanges pinned;
        private final DevicePlacement placement;
        private final FakePass pass;

        World(int slots, int pinnedLayers, int budget) {
            this(slots, pinnedLayers, budget, true);
        }

        World(int slots, int pinnedLayers, int budget, boolean borrow) {
            this(slots, pinnedLayers, budget, settings(slots, borrow));
        }

        World(int slots, int pinnedLayers, int budget, PlacementSettings settings) {
            ExpertProfile profile = ExpertProfile.even(MODEL);
            if (budget < 0) {
                ExpertArena arena = arena();
                source = TieredExpertSource.resident(arena);
                PinSetting cap = new PinSetting.AtMost(pinnedLayers * MODEL.layerBytes(0));
                pinned = ArenaPinner.pin(device, arena, PinPlan.wholeLayers(MODEL, cap), cap, (layer, expert) -> false);
            } else if (budget == 0) {
                source = TieredExpertSource.file(failing);
                pinned = PinnedRanges.none(MODEL);
            } else {
                source = TieredExpertSource.budget(
                        failing, profile.ranking(), budget * MODEL.maxStride() + 30_000, 2, LoadProgress.NONE);
                pinned = PinnedRanges.none(
                        java.util.Objects.requireNonNull(source.arena()).arenaLayout());
            }
            placement = ExpertTiers.place(device, source, pinned, profile, settings);
            pass = new FakePass(device, placement, MODEL.layers(), USED, 64);
        }

        @Override
        public void close() {
            pass.close();
            placement.close();
            pinned.close();
            source.close();
            assertEquals(List.of(), device.leaks());
            assertEquals(List.of(), device.failures());
            device.close();
        }
    }

    @Test
    void theTimingLineTellsBytesAndWaits() {
        try (World world = new World(90, 0, -1)) {
            world.pass.run(64, new SplittableRandom(1));
            long unique = Objects.requireNonNull(world.placement.order()).bytes();
            String line = world.placement.scheduler().timing().line();
            assertTrue(line.startsWith("prefill timing: 1 passes in"), line);
            assertTrue(line.contains("1.00 of the unique bytes"), line);
            assertTrue(line.contains("waited for blobs"), line);
            assertTrue(world.placement.scheduler().timing().stagedBytes() >= unique, line);
        }
    }

    @Test
    void closingWaitsForTheStream() {
        try (World world = new World(90, 0, -1);
                Stream stream = world.device.newStream("other")) {
            world.placement.fillCache(stream);
            stream.synchronize();
            assertEquals(90, world.placement.cache().residents());
        }
    }
}
