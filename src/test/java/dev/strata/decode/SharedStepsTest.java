package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
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
import dev.strata.prefill.StagerSizing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Decode steps whose misses are shared between card and processor, on a fake device: every expert is computed once, by the right blob. */
class SharedStepsTest {
    private static final ArenaLayout MODEL = Layouts.small(5, 48);
    private static final int USED = 6;

    @ParameterizedTest
    @CsvSource({
        // slots, pinned layers, link share (negative: by rates)
        "30, 5, -1",
        "30, 5, 0",
        "30, 5, 0.5",
        "30, 5, 1",
        "100, 0, -1",
        "100, 2, 0.5",
        "6, 3, -1",
    })
    void stepsAndPromptsOfAnySizeFindEveryExpert(int slots, int pinnedLayers, double linkShare) {
        for (int seed = 0; seed < 2; seed++) {
            SplittableRandom random = new SplittableRandom(seed * 1000L + slots);
            try (World world = new World(slots, pinnedLayers, linkShare)) {
                for (int step = 0; step < 25; step++) {
                    int rows = random.nextInt(8) == 0 ? 40 : 1 + random.nextInt(16);
                    world.pass.run(rows, random);
                    if (random.nextInt(6) == 0) {
                        world.placement.promptFinished();
                    }
                }
                assertEquals(List.of(), world.pass.wrong());
                assertEquals(List.of(), world.workers.wrong());
                assertTrue(world.placement.capturable(1), "steps need the host for meetings only");
                PoolFigures pool = world.placement.pool();
                assertNotNull(pool);
                if (pinnedLayers < 5 || linkShare >= 0) {
                    assertEquals(pinnedLayers < 5 || linkShare < 1, pool.experts() > 0);
                }
            }
        }
    }

    @Test
    void aPromptOfOneChunkIsSharedWhereItCouldStream() {
        SplittableRandom random = new SplittableRandom(8);
        try (World world = new World(60, 5, 1, 64)) {
            world.pass.run(40, random);
            int shared = world.workers.calls();
            assertTrue(shared > 0, "the processor took no part");
            assertTrue(world.placement.cache().lent() > 0, "activations of such a prompt lie in the loan");
            world.placement.promptFinished();
            for (boolean goesOn : new boolean[] {true, false}) {
                if (goesOn) {
                    world.placement.promptGoesOn();
                }
                world.pass.run(40, random);
                assertEquals(shared, world.workers.calls(), "chunks of a longer prompt stream");
            }
            world.placement.promptFinished();
            world.pass.run(40, random);
            assertTrue(world.workers.calls() > shared);
            assertEquals(List.of(), world.pass.wrong());
            assertEquals(List.of(), world.workers.wrong());
        }
    }

    @Test
    void whatTheLinkBroughtIsKept() {
        SplittableRandom random = new SplittableRandom(3);
        try (World world = new World(60, 5, 1)) {
            int seed = 4;
            long linkBytes = world.placement.scheduler().linkBytes();
            for (int step = 0; step < 12; step++) {
                world.pass.run(1, new SplittableRandom(seed));
            }
            assertEquals(List.of(), world.pass.wrong());
            assertTrue(world.placement.kept() > 0);
            assertEquals(world.placement.kept(), world.placement.swapped(), "nothing had to cross the link again");
            assertEquals(linkBytes, world.placement.scheduler().linkBytes());
            long hits = world.placement.usage().hits();
            world.pass.run(1, new SplittableRandom(seed));
            world.pass.run(1, random);
            assertEquals(
                    2 * 5 * USED,
                    world.placement.usage().hits() - hits,
                    "all choices of the last two repeated steps were there");
        }
    }

    @ParameterizedTest
    @CsvSource({"225, 5, false", "225, 3, true"})
    void theProcessorIsAskedForWhatTheLinkCannotReach(int slots, int pinnedLayers, boolean asked) {
        SplittableRandom random = new SplittableRandom(slots);
        try (World world = new World(slots, pinnedLayers, -1)) {
            for (int step = 0; step < 30; step++) {
                world.pass.run(1, random);
            }
            assertEquals(asked, world.placement.sharesProcessor());
            assertTrue(world.placement.totals().missedOnce() > 0);
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    /** Most guesses are right; in between are passes that use the same memory otherwise. */
    @ParameterizedTest
    @CsvSource({"30, 1", "30, 0.5", "120, 1"})
    void expertsThatWereGuessedAreThere(int slots, double linkShare) {
        SplittableRandom random = new SplittableRandom(slots);
        try (World world = new World(slots, 5, linkShare)) {
            for (int step = 0; world.placement.foreseen() < 5 && step < 2000; step++) {
                world.pass.run(step % 9 == 8 ? 20 : step % 9 == 7 ? 40 : 1, random);
                assertEquals(List.of(), world.pass.wrong());
            }
            assertTrue(world.placement.foreseen() >= 5, "found " + world.placement.foreseen() + " guessed experts");
            assertTrue(world.placement.broughtAhead() >= world.placement.foreseen());
            assertEquals(List.of(), world.workers.wrong());
        }
    }

    @Test
    void guessesThatAreWrongRest() {
        SplittableRandom random = new SplittableRandom(9);
        try (World world = new World(30, 5, 1)) {
            world.pass.mislead();
            for (int step = 0; world.placement.broughtAhead() < 256 && step < 2000; step++) {
                world.pass.run(1, random);
            }
            world.pass.run(1, random);
            long brought = world.placement.broughtAhead();
            assertTrue(brought >= 256, "brought " + brought + " experts");
            for (int step = 0; step < 100; step++) {
                world.pass.run(1, random);
            }
            assertEquals(brought, world.placement.broughtAhead());
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void residentExpertsNeedNoMeeting() {
        try (World world = new World(240, 0, 0)) {
            int form = world.placement.form();
            SplittableRandom random = new SplittableRandom(1);
            for (int step = 0; step < 10; step++) {
                world.pass.run(2, random);
            }
            assertEquals(0, world.workers.calls());
            assertEquals(form, world.placement.form());
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    /** Eight layers with help and as many without it take turns, so that the third pass of five layers has none. */
    @Test
    void figuresOfALayerWithoutHelpTellNoTimeOfTheProcessor() {
        SplittableRandom random = new SplittableRandom(8);
        try (World world = new World(30, 5, 1)) {
            world.pass.run(20, random);
            world.pass.run(20, random);
            assertTrue(world.workers.calls() > 0);
            world.placement.fetchFigures().clear();
            world.pass.run(20, random);
            String line = world.placement.fetchFigures().text(20, 50);
            assertTrue(line.endsWith("the processor read experts 0 times in 0.0 ms"), line);
        }
    }

    @ParameterizedTest
    @CsvSource({"30, 5", "30, 0", "100, 2", "6, 3"})
    void shortPromptsAreShared(int slots, int pinnedLayers) {
        SplittableRandom random = new SplittableRandom(slots);
        try (World world = new World(slots, pinnedLayers, 1)) {
            for (int pass = 0; pass < 30; pass++) {
                int before = world.workers.calls();
                world.pass.run(17 + pass % 15, random, pass % 7 == 6 ? pass % 5 : 5);
                assertTrue(pass > 1 || world.workers.calls() > before, "the processor is on trial");
                world.pass.run(1 + pass % 3, random);
                if (pass % 10 == 9) {
                    world.pass.run(40, random);
                    world.placement.promptFinished();
                }
            }
            assertEquals(List.of(), world.pass.wrong());
            assertEquals(List.of(), world.workers.wrong());
            world.workers.failIn(0);
            for (int pass = 0; pass < 2; pass++) {
                try {
                    world.pass.run(20, random);
                } catch (IllegalStateException failed) {
                    assertTrue(String.valueOf(failed.getMessage()).contains("processor"), failed.getMessage());
                }
            }
            world.pass.run(20, random);
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void aBrokenWorkerEndsOnePassOnly() {
        SplittableRandom random = new SplittableRandom(7);
        try (World world = new World(30, 5, 0)) {
            for (int at : new int[] {0, 1, 4}) {
                world.workers.failIn(at);
                IllegalStateException failed =
                        assertThrows(IllegalStateException.class, () -> world.pass.run(3, random));
                assertTrue(String.valueOf(failed.getMessage()).contains("a worker is broken"), failed.getMessage());
                world.pass.run(3, random);
            }
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void aPassMayBeGivenUpAtAnyLayer() {
        SplittableRandom random = new SplittableRandom(8);
        try (World world = new World(30, 3, -1)) {
            for (int until = 0; until < 5; until++) {
                world.pass.run(2, random, until);
                world.pass.run(2, random);
            }
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    @Test
    void anIdlePoolSleeps() throws InterruptedException {
        SplittableRandom random = new SplittableRandom(9);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try (World world = new World(30, 5, 0)) {
            world.pass.run(1, random);
            Thread pool = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("expert-pool"))
                    .findFirst()
                    .orElseThrow();
            long deadline = System.nanoTime() + 5_000_000_000L;
            while (pool.getState() != Thread.State.WAITING && System.nanoTime() < deadline) {
                Thread.onSpinWait();
            }
            assertEquals(Thread.State.WAITING, pool.getState());
            long before = threads.getThreadCpuTime(pool.threadId());
            pool.join(100);
            assertTrue(threads.getThreadCpuTime(pool.threadId()) - before < 1_000_000);
            world.pass.run(1, random);
            assertEquals(List.of(), world.pass.wrong());
        }
    }

    /** What the host does for a layer beside the products: finding ten blobs in RAM and publishing. */
    @Test
    void theHostsPartOfAPlanIsShort() {
        int layer = 1;
        MemorySegment question = Arena.ofAuto().allocate(MissShare.QUESTION_HEADER + 4096, 64);
        MemorySegment answer = Arena.ofAuto().allocate(MissShare.ANSWER_HEADER + (4 << 20), 64);
        ExpertWorkers nothing = new ExpertWorkers() {
            @Override
            public int threads() {
                return 1;
            }

            @Override
            public String description() {
                return "nothing";
            }

            @Override
            public void compute(
                    ExpertLayout shape,
                    int[] experts,
                    long[] blobs,
                    int count,
                    long ids,
                    int rows,
                    int used,
                    long in,
                    long results) {}

            @Override
            public void close() {}
        };
        try (ExpertPool pool =
                new ExpertPool(MODEL, nothing, (of, expert) -> 4096L + expert, (a, b, c, d) -> {}, question, answer)) {
            pool.start();
            question.set(JAVA_INT, 4, layer);
            question.set(JAVA_INT, 8, 1);
            question.set(JAVA_INT, 12, 10);
            question.set(JAVA_INT, 16, 10);
            for (int i = 0; i < 10; i++) {
                question.set(JAVA_INT, 64 + 4L * i, 3 * i);
            }
            double best = Double.MAX_VALUE;
            int number = 0;
            for (int batch = 0; batch < 20; batch++) {
                long before = pool.figures().planNanos();
                pool.begin();
                for (int i = 0; i < 100; i++) {
                    JAVA_INT.varHandle().setRelease(question, 0L, ++number);
                    while ((int) JAVA_INT.varHandle().getAcquire(answer, 0L) != number) {
                        Thread.onSpinWait();
                    }
                }
                pool.settle();
                best = Math.min(best, (pool.figures().planNanos() - before) / 100.0);
            }
            assertTrue(best < 40_000, best + " ns");
            System.out.println("host's part of a plan with 10 misses: " + Math.round(best) + " ns");
        }
    }

    @Test
    void theSplitFollowsTheRates() {
        PcieShare even = PcieShare.measured(true, 50_000, 50_000);
        assertEquals(0, even.processor(0));
        assertTrue(even.processor(8) >= 3 && even.processor(8) <= 4, "" + even.processor(8));
        assertEquals(0, even.processor(1), "one miss is not worth a meeting at equal rates");
        PcieShare slowProcessor = PcieShare.measured(true, 500_000, 50_000);
        assertEquals(0, slowProcessor.processor(8));
        PcieShare slowLink = PcieShare.measured(true, 20_000, 200_000);
        assertTrue(slowLink.processor(10) >= 8);
        int before = slowLink.processor(10);
        for (int i = 0; i < 5000; i++) {
            int given = slowLink.processor(10);
            slowLink.measured(given, 10_000 + 90_000L * given, 10 - given, 30_000L * (10 - given));
            slowLink.refine();
        }
        assertTrue(slowLink.processor(10) < before, "the processor turned out to be slower");
        assertEquals(0, PcieShare.fixed(1).processor(9));
        assertEquals(9, PcieShare.fixed(0).processor(9));
        assertEquals(5, PcieShare.fixed(0.5).processor(9));
    }

    @Test
    void aPlanCoversEveryMissOnce() {
        SplittableRandom random = new SplittableRandom(10);
        MissPlan plan = new MissPlan(64);
        for (int round = 0; round < 2000; round++) {
            boolean[] routed = new boolean[64];
            long[] addresses = new long[64];
            int misses = 0;
            int unreachable = 0;
            for (int expert = 0; expert < 64; expert++) {
                routed[expert] = random.nextInt(6) == 0;
                addresses[expert] = random.nextInt(4) == 0 ? 0 : random.nextBoolean() ? 1000 + expert : 5000 + expert;
                boolean miss = routed[expert] && (addresses[expert] < 1000 || addresses[expert] >= 2000);
                misses += miss ? 1 : 0;
                unreachable += miss && addresses[expert] == 0 ? 1 : 0;
            }
            int[] shares = new int[8];
            Arrays.setAll(shares, i -> i == 0 ? 0 : random.nextInt(i + 1));
            plan.make(routed, addresses, 1000, 1000, shares);
            assertEquals(misses, plan.processors() + plan.links());
            assertEquals(Math.max(unreachable, Math.min(misses, shares[Math.min(misses, 7)])), plan.processors());
            for (int i = 0; i < plan.links(); i++) {
                assertFalse(addresses[plan.link(i)] == 0);
            }
        }
    }

    private static final class World implements AutoCloseable {
        private final FakeDevice device = FakeDevice.threaded(8 << 20);
        private final FakeWorkers workers = new FakeWorkers();
        private final TieredExpertSource source;
        private final PinnedRanges pinned;
        private final DevicePlacement placement;
        private final FakePass pass;

        World(int slots, int pinnedLayers, double linkShare) {
            this(slots, pinnedLayers, linkShare, 32);
        }

        World(int slots, int pinnedLayers, double linkShare, int promptRows) {
            ExpertArena arena = ExpertArena.allocate(MODEL);
            ArenaLoader.fill(new PatternSource(MODEL), arena, 2, LoadProgress.NONE, layer -> {});
            source = TieredExpertSource.resident(arena);
            PinSetting cap = new PinSetting.AtMost(pinnedLayers * MODEL.layerBytes(0));
            pinned = ArenaPinner.pin(device, arena, PinPlan.wholeLayers(MODEL, cap), cap, (layer, expert) -> false);
            StagerSizing.Overrides stager = new StagerSizing.Overrides(
                    StagerSizing.StageResident.BY_SOURCE,
                    StagerSizing.Named.REFERENCE,
                    OptionalInt.of(2),
                    OptionalInt.of(6),
                    OptionalInt.of(24),
                    OptionalInt.of(3));
            PlacementSettings settings = new PlacementSettings(
                    slots, 1000, 32, true, stager, true, false, new SlotAdaptation(2, 16, 0.8f, 1.5f, 2), 6, null, 4);
            OptionalDouble share = linkShare < 0 ? OptionalDouble.empty() : OptionalDouble.of(linkShare);
            placement = ExpertTiers.place(
                    device,
                    source,
                    pinned,
                    ExpertProfile.even(MODEL),
                    settings,
                    new MissSettings(slots != 6, true, share, true, promptRows, 0, () -> workers));
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
            assertTrue(workers.closed() || workers.calls() == 0);
        }
    }
}
