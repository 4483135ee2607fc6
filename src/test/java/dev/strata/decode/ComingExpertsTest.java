package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Buffer;
import dev.strata.device.MissShare;
import dev.strata.device.Stream;
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
import dev.strata.expert.SlotCache;
import dev.strata.expert.SlotPlan;
import dev.strata.expert.TieredExpertSource;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class ComingExpertsTest {
    private static final ArenaLayout MODEL = Layouts.small(3, 16);
    private static final int FIRST = 2;

    @Test
    void entriesTellWhereBlobsComeUntilTheyAreForgotten() {
        PinSetting all = new PinSetting.AtMost(MODEL.dataBytes());
        ExpertArena arena = ExpertArena.allocate(MODEL);
        ArenaLoader.fill(new PatternSource(MODEL), arena, 2, LoadProgress.NONE, layer -> {});
        long base = 4 * MODEL.maxStride();
        try (FakeDevice device = FakeDevice.threaded(8 << 20);
                TieredExpertSource source = TieredExpertSource.resident(arena);
                PinnedRanges pinned =
                        ArenaPinner.pin(device, arena, PinPlan.wholeLayers(MODEL, all), all, (layer, expert) -> false);
                Buffer memory =
                        device.allocate(base + (FIRST + ComingExperts.LEAST_PLACES) * MODEL.maxStride(), "slots");
                SlotCache cache = new SlotCache(
                        MODEL, SlotPlan.fit(MODEL, ExpertProfile.even(MODEL).ranking(), base, 4), memory);
                Stream stream = device.newStream("test");
                ComingExperts coming = new ComingExperts(
                        device,
                        MODEL,
                        new PlacedBlobs(source, pinned, cache),
                        memory,
                        base,
                        FIRST,
                        ComingExperts.LEAST_PLACES)) {
            assertEquals(4, coming.room(1, 77));
            coming.bring(1, new int[] {9, 5}, 2);
            assertEquals(2, coming.room(1, 77));
            coming.bring(1, new int[] {12}, 1);
            device.drain();
            assertArrayEquals(
                    new int[] {77, 9 | 3 << 16, 1, 77, 77, 5 | 4 << 16, 2, 77, 77, 12 | 5 << 16, 3, 77, 0, 0, 0, 0},
                    entries(coming));
            assertEquals(3, words(coming.arrived().address(), 1)[0]);
            assertEquals(3, coming.brought());
            assertTrue(coming.has(1, 12));
            assertTrue(coming.holds(5, 1, 12));
            assertFalse(coming.holds(5, 1, 9));
            MemorySegment place = MemorySegment.ofAddress(memory.address() + base + 5 * MODEL.maxStride())
                    .reinterpret(MODEL.maxStride());
            assertTrue(PatternSource.holds(MODEL.layout(1), 1, 12, place));

            assertEquals(4, coming.room(1, 78));
            assertFalse(coming.has(1, 12));
            coming.forget(stream);
            device.drain();
            assertArrayEquals(new int[16], entries(coming));
            assertTrue(coming.holds(5, 1, 12));
        }
    }

    private static int[] entries(ComingExperts coming) {
        return words(coming.entries(1), (int) MissShare.COMING_BYTES / 4);
    }

    private static int[] words(long address, int count) {
        return MemorySegment.ofAddress(address).reinterpret(4L * count).toArray(JAVA_INT);
    }
}
