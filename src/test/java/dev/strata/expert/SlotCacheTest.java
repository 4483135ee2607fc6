package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Buffer;
import dev.strata.device.DeviceException;
import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The expert cache: memory, plan, states, loan, adaptation and profiles. */
class SlotCacheTest {
    @Test
    void theReserveIsReallyFree() {
        try (FakeDevice device = FakeDevice.threaded(100_000)) {
            try (Buffer buffer = CacheMemory.allocate(device, Long.MAX_VALUE, 7_000, 1_000)) {
                assertEquals(93_000 / 256 * 256, buffer.bytes());
            }
            try (Buffer buffer = CacheMemory.allocate(device, 50_000, 7_000, 1_000)) {
                assertEquals(50_000 / 256 * 256, buffer.bytes());
            }
        }
    }

    @Test
    void memoryThatIsOnlyReportedShrinksTheCache() {
        try (FakeDevice device = FakeDevice.threaded(100_000).withHidden(30_000);
                Buffer buffer = CacheMemory.allocate(device, Long.MAX_VALUE, 7_000, 1_000)) {
            assertTrue(buffer.bytes() <= 70_000 && buffer.bytes() >= 50_000, "got " + buffer.bytes());
        }
    }

    @Test
    void tooLittleMemorySaysWhatToChange() {
        try (FakeDevice device = FakeDevice.threaded(10_000)) {
            DeviceException refused =
                    assertThrows(DeviceException.class, () -> CacheMemory.allocate(device, 50_000, 7_000, 5_000));
            assertTrue(String.valueOf(refused.getMessage()).contains("--vram-reserve-mib"), refused.getMessage());
            assertEquals(List.of(), device.leaks());
        }
    }

    @Test
    void refusalsAtAnyAttemptLeakNothing() {
        for (int call = 0; call < 6; call++) {
            try (FakeDevice device = FakeDevice.threaded(100_000)) {
                device.faults().fail(FakeCall.Kind.ALLOCATE, call).failLater(FakeCall.Kind.FILL, call - 1);
                try {
                    CacheMemory.allocate(device, Long.MAX_VALUE, 1_000, 1_000).close();
                } catch (DeviceException expected) {
                    assertEquals(DeviceException.Kind.FAILED, expected.kind());
                }
                assertEquals(List.of(), device.leaks());
            }
        }
    }

    @Test
    void theHottestGetSlotsAndTheTailIsLent() {
        ArenaLayout layout = Layouts.mixed(8);
        ExpertProfile profile = ExpertProfile.even(layout);
        profile.heat()[2][5] = 9;
        profile.heat()[1][3] = 5;
        SlotPlan plan = SlotPlan.fit(layout, profile.ranking(), layout.dataBytes() / 2, Integer.MAX_VALUE);
        assertEquals(2, plan.layers()[0]);
        assertEquals(5, plan.experts()[0]);
        assertEquals(layout.stride(2), plan.offsets()[1]);
        assertTrue(plan.bytes() <= layout.dataBytes() / 2);
        assertEquals(plan.slots(), plan.firstLent(0, plan.bytes()));
        assertEquals(plan.slots() - 1, plan.firstLent(1, plan.bytes()));
        assertEquals(0, plan.firstLent(plan.bytes(), plan.bytes()));
        assertEquals(-1, plan.firstLent(plan.bytes() + 1, plan.bytes()));
        assertEquals(
                3, SlotPlan.fit(layout, profile.ranking(), Long.MAX_VALUE, 3).slots());
    }

    @Test
    void withoutAProfileLayersShareEvenly() {
        ArenaLayout layout = Layouts.small(4, 16);
        SlotPlan plan = SlotPlan.fit(layout, ExpertProfile.even(layout).ranking(), Long.MAX_VALUE, 20);
        int[] perLayer = new int[4];
        for (int layer : plan.layers()) {
            perLayer[layer]++;
        }
        for (int count : perLayer) {
            assertEquals(5, count);
        }
    }

    @Test
    void statesOfASlot() {
        try (Fixture fixture = new Fixture(Layouts.small(2, 8), 6)) {
            SlotCache cache = fixture.cache;
            assertFalse(cache.isResident(0, 0));
            fixture.fill();
            assertTrue(cache.isResident(0, 0));
            assertEquals(6, cache.residents());
            assertThrows(IllegalStateException.class, () -> cache.ready(0));
            int slot = cache.slot(0, 0);
            assertThrows(IllegalStateException.class, () -> cache.replace(slot, 1));
            cache.replace(slot, 7);
            assertEquals(0, cache.address(0, 7));
            assertEquals(-1, cache.slot(0, 0));
            cache.loading(slot);
            assertThrows(
                    IllegalStateException.class,
                    () -> cache.lend(cache.buffer().bytes(), cache.buffer().bytes()));
            cache.failed(slot);
            cache.loading(slot);
            cache.ready(slot);
            assertEquals(cache.buffer().address() + cache.offset(slot), cache.address(0, 7));
        }
    }

    @Test
    void aLoanTakesTheTailAndGivesItBack() {
        try (Fixture fixture = new Fixture(Layouts.small(2, 8), 6)) {
            fixture.fill();
            SlotCache cache = fixture.cache;
            long stride = cache.layout().stride(0);
            long start = cache.lend(2 * stride - 10, cache.buffer().bytes());
            assertEquals(cache.buffer().bytes() - 2 * stride + 10, start);
            assertEquals(2, cache.lent());
            assertEquals(4, cache.residents());
            assertThrows(
                    IllegalStateException.class,
                    () -> cache.lend(1, cache.buffer().bytes()));
            assertEquals(4, cache.takeBack());
            assertEquals(0, cache.lent());
            assertEquals(SlotState.FREE, cache.state(5));
        }
    }

    @Test
    void adaptationNeverTouchesTheRunningStepAndConverges() {
        SplittableRandom random = new SplittableRandom(11);
        int used = 4;
        ArenaLayout layout = Layouts.small(3, 32);
        SlotAdaptation adaptation = new SlotAdaptation(1, 8, 0.9f, 1.5f, 2);
        for (int round = 0; round < 40; round++) {
            try (Fixture fixture = new Fixture(layout, 3 * used)) {
                fixture.fill();
                SlotCache cache = fixture.cache;
                ExpertUsage usage = new ExpertUsage(ExpertProfile.even(layout), 0);
                for (int step = 0; step < 60; step++) {
                    for (int layer = 0; layer < 3; layer++) {
                        Set<Integer> chosen = new HashSet<>();
                        while (chosen.size() < used) {
                            chosen.add(random.nextInt(10) < 9 ? 20 + random.nextInt(4) : random.nextInt(32));
                        }
                        for (int expert : chosen) {
                            usage.count(layer, expert, cache.isResident(layer, expert), 1);
                        }
                    }
                    Set<Integer> slots = new HashSet<>();
                    for (SlotAdaptation.Swap swap : adaptation.choose(cache, usage)) {
                        assertTrue(slots.add(swap.slot()), "a slot was chosen twice");
                        cache.replace(swap.slot(), swap.newcomer());
                        cache.loading(swap.slot());
                        cache.ready(swap.slot());
                    }
                    assertTrue(slots.size() <= 8);
                    assertEquals(3 * used, cache.residents());
                    usage.decay(adaptation.decay());
                }
                for (int layer = 0; layer < 3; layer++) {
                    for (int expert = 20; expert < 24; expert++) {
                        assertTrue(cache.isResident(layer, expert), "layer " + layer + " expert " + expert);
                    }
                }
                assertTrue(usage.hitRate() > 0.5);
                assertEquals(
                        usage.hitRate(), usage.hitBytes() / (double) (usage.hitBytes() + usage.missBytes()), 1e-12);
            }
        }
    }

    @Test
    void lentSlotsAreNoVictims() {
        ArenaLayout layout = Layouts.small(1, 16);
        try (Fixture fixture = new Fixture(layout, 4)) {
            fixture.fill();
            ExpertUsage usage = new ExpertUsage(ExpertProfile.even(layout), 0);
            for (int i = 0; i < 5; i++) {
                usage.count(0, 15, false, 1);
                usage.count(0, 14, false, 1);
            }
            fixture.cache.lend(3 * layout.stride(0), fixture.cache.buffer().bytes());
            List<SlotAdaptation.Swap> swaps = SlotAdaptation.DEFAULTS.choose(fixture.cache, usage);
            assertEquals(List.of(new SlotAdaptation.Swap(0, 0, 14, 5f)), swaps);
        }
    }

    @Test
    void profilesAreSavedAndChecked(@TempDir Path folder) throws IOException {
        ArenaLayout layout = Layouts.small(2, 4);
        ExpertProfile profile = ExpertProfile.even(layout);
        profile.heat()[1][2] = 3.5f;
        Path file = folder.resolve("profile.bin");
        profile.save(file);
        assertEquals(
                new ExpertKey(1, 2), ExpertProfile.load(file, layout).ranking().getFirst());
        IOException other = assertThrows(IOException.class, () -> ExpertProfile.load(file, Layouts.small(2, 5)));
        assertTrue(String.valueOf(other.getMessage()).contains("profile.bin"));
        Files.write(file, new byte[] {1, 2, 3, 4, 5, 6, 7, 8});
        assertThrows(IOException.class, () -> ExpertProfile.load(file, layout));
        try (java.util.stream.Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void theLearnedProfileKeepsResidentsFirst() {
        ArenaLayout layout = Layouts.small(1, 8);
        try (Fixture fixture = new Fixture(layout, 2)) {
            fixture.fill();
            ExpertUsage usage = new ExpertUsage(ExpertProfile.even(layout), 0);
            for (int i = 0; i < 9; i++) {
                usage.count(0, 6, false, 1);
            }
            List<ExpertKey> ranking = usage.profile((layer, expert) -> fixture.cache.slot(layer, expert) >= 0)
                    .ranking();
            assertEquals(List.of(new ExpertKey(0, 0), new ExpertKey(0, 1), new ExpertKey(0, 6)), ranking.subList(0, 3));
        }
    }

    /** A cache on a fake device. */
    private static final class Fixture implements AutoCloseable {
        private final FakeDevice device = FakeDevice.threaded(1 << 30);
        private final SlotCache cache;

        Fixture(ArenaLayout layout, int slots) {
            SlotPlan plan = SlotPlan.fit(layout, ExpertProfile.even(layout).ranking(), Long.MAX_VALUE, slots);
            cache = new SlotCache(layout, plan, device.allocate(plan.bytes(), "cache"));
        }

        void fill() {
            for (int slot = 0; slot < cache.slots(); slot++) {
                cache.loading(slot);
                cache.ready(slot);
            }
        }

        @Override
        public void close() {
            cache.close();
            device.close();
        }
    }
}
