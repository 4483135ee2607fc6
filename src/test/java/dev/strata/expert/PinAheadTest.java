package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Layers are registered while the arena is filled: each before it is written, at most one ahead of its readers. */
class PinAheadTest {
    private static final int LAYERS = 6;
    private static final int EXPERTS = 8;
    private static final ArenaLayout LAYOUT = Layouts.small(LAYERS, EXPERTS);
    private static final PinSetting ALL = new PinSetting.Automatic();
    private static final BiPredicate<Integer, Integer> NONE_RESIDENT = (layer, expert) -> false;

    /** A source that tells which layer is read. */
    private static final class Watched extends PatternSource {
        private final IntConsumer reads;

        Watched(IntConsumer reads) {
            super(LAYOUT);
            this.reads = reads;
        }

        @Override
        public void copyBlob(int layer, int expert, MemorySegment target) {
            reads.accept(layer);
            super.copyBlob(layer, expert, target);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void layersAreRegisteredOneAheadOfTheirReaders(int readers) {
        try (FakeDevice device = FakeDevice.threaded(0);
                ExpertArena arena = ExpertArena.allocate(LAYOUT)) {
            AtomicInteger highest = new AtomicInteger(-1);
            AtomicInteger early = new AtomicInteger();
            AtomicInteger far = new AtomicInteger();
            Watched source = new Watched(layer -> {
                highest.accumulateAndGet(layer, Math::max);
                long registered = device.count(FakeCall.Kind.REGISTER);
                early.addAndGet(registered <= layer ? 1 : 0);
                // Another reader may already be at a higher layer, of which it has written nothing.
                far.addAndGet(registered > highest.get() + 1 + readers ? 1 : 0);
            });
            PinAhead ahead = PinAhead.start(device, arena, PinPlan.wholeLayers(LAYOUT, ALL), ALL, NONE_RESIDENT);
            ArenaLoader.fill(source, arena, readers, LoadProgress.NONE, ahead);
            PinnedRanges pinned = ahead.finish();
            assertEquals(0, early.get(), "blobs written before their layer was registered");
            assertEquals(0, far.get(), "layers registered more than one ahead");
            assertEquals(LAYERS, pinned.count());
            for (int layer = 0; layer < LAYERS; layer++) {
                assertTrue(PatternSource.holds(LAYOUT.layout(layer), layer, 3, arena.blob(layer, 3)));
                assertEquals(arena.blob(layer, 3).address(), pinned.deviceAddress(layer, 3));
            }
            pinned.close();
            assertEquals(List.of(), device.leaks());
        }
    }

    @Test
    void aRefusalAtAnyLayerLetsTheLoadGoOn() {
        for (int refused = 0; refused <= LAYERS; refused++) {
            try (FakeDevice device = FakeDevice.threaded(0);
                    ExpertArena arena = ExpertArena.allocate(LAYOUT)) {
                device.faults().failFrom(FakeCall.Kind.REGISTER, refused);
                PinAhead ahead = PinAhead.start(device, arena, PinPlan.wholeLayers(LAYOUT, ALL), ALL, NONE_RESIDENT);
                ArenaLoader.fill(new PatternSource(LAYOUT), arena, 2, LoadProgress.NONE, ahead);
                PinnedRanges pinned = ahead.finish();
                assertEquals(refused, pinned.count());
                for (int layer = 0; layer < LAYERS; layer++) {
                    assertEquals(layer < refused, pinned.isPinned(layer, EXPERTS - 1));
                    assertTrue(PatternSource.holds(LAYOUT.layout(layer), layer, 7, arena.blob(layer, 7)));
                }
                pinned.close();
                assertEquals(List.of(), device.leaks());
            }
        }
    }

    @Test
    void aFailedLoadGivesEverythingBack() {
        for (int broken = 0; broken < LAYERS; broken++) {
            int at = broken;
            try (FakeDevice device = FakeDevice.threaded(0);
                    ExpertArena arena = ExpertArena.allocate(LAYOUT)) {
                Watched source = new Watched(layer -> {
                    if (layer == at) {
                        throw new IllegalStateException("the drive is gone");
                    }
                });
                PinAhead ahead = PinAhead.start(device, arena, PinPlan.wholeLayers(LAYOUT, ALL), ALL, NONE_RESIDENT);
                assertThrows(
                        IllegalStateException.class,
                        () -> ArenaLoader.fill(source, arena, 1, LoadProgress.NONE, ahead));
                assertTrue(device.count(FakeCall.Kind.REGISTER) <= at + 2, "went on behind the failure");
                assertEquals(List.of(), device.leaks());
            }
        }
    }

    @Test
    void layersWithoutRangesAreNotWaitedFor() {
        BiPredicate<Integer, Integer> resident = (layer, expert) -> layer % 2 == 0 || expert > 4;
        PinPlan plan = PinPlan.byNeed(LAYOUT, ALL, resident);
        try (FakeDevice device = FakeDevice.threaded(0);
                ExpertArena arena = ExpertArena.allocate(LAYOUT)) {
            PinAhead ahead = PinAhead.start(device, arena, plan, ALL, resident);
            ArenaLoader.fill(new PatternSource(LAYOUT), arena, 2, LoadProgress.NONE, ahead);
            PinnedRanges pinned = ahead.finish();
            assertEquals(LAYERS / 2, pinned.layersWithShare());
            assertFalse(pinned.isPinned(0, 0));
            assertTrue(pinned.isPinned(1, 4));
            pinned.close();
            assertEquals(List.of(), device.leaks());
        }
    }
}
