package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.fake.FakeCall;
import dev.strata.device.fake.FakeDevice;
import dev.strata.format.QuantType;
import dev.strata.memory.Bytes;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is pinned: the setting, the plan and its execution. */
class PinTest {
    private static final BiPredicate<Integer, Integer> NONE_RESIDENT = (layer, expert) -> false;

    @Test
    void settingsOfTheVariable() {
        assertInstanceOf(PinSetting.Automatic.class, PinSetting.parse(null));
        assertInstanceOf(PinSetting.Whole.class, PinSetting.parse("0"));
        assertEquals(new PinSetting.AtMost(29 * Bytes.GIB), PinSetting.parse("29"));
        assertEquals(29 * Bytes.GIB, PinSetting.parse("29").mostBytes());
        assertEquals(1, PinSetting.parse("none").mostBytes());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "all", "8.5", "None", "8GiB", "99999999999999999999"})
    void anythingElseNamesVariableAndAcceptedValues(String text) {
        String message = String.valueOf(assertThrows(IllegalArgumentException.class, () -> PinSetting.parse(text))
                .getMessage());
        assertTrue(message.contains("STRATA_ARENA_PIN_GIB=" + text) && message.contains("none"), message);
    }

    @Test
    void wholeLayersFromTheFirstWhileTheyFit() {
        ArenaLayout layout = Layouts.of(6, 128, 2048, 768, QuantType.Q4_0, false);
        long slice = layout.layerBytes(0);
        assertEquals(0, slice % 4096);
        PinPlan plan = PinPlan.wholeLayers(layout, new PinSetting.AtMost(Bytes.GIB));
        assertEquals(Bytes.GIB / slice, plan.ranges().size());
        assertEquals(0, plan.ranges().getFirst().offset());
        assertEquals(
                6 * slice, PinPlan.wholeLayers(layout, new PinSetting.Whole()).bytes());
        assertEquals(
                0,
                PinPlan.wholeLayers(layout, new PinSetting.Nothing()).ranges().size());
    }

    @Test
    void byNeedCoversExactlyTheOthersInMergedPages() {
        SplittableRandom random = new SplittableRandom(3);
        for (int round = 0; round < 50; round++) {
            ArenaLayout layout = Layouts.mixed(40);
            boolean[][] resident = new boolean[3][40];
            for (boolean[] layer : resident) {
                for (int i = 0; i < layer.length; i++) {
                    layer[i] = random.nextBoolean();
                }
            }
            BiPredicate<Integer, Integer> test = (layer, expert) -> resident[layer][expert];
            PinPlan plan = PinPlan.byNeed(layout, new PinSetting.Automatic(), test);
            long previous = -1;
            for (PinPlan.Range range : plan.ranges()) {
                assertEquals(0, range.offset() % 4096);
                assertEquals(0, range.bytes() % 4096);
                assertTrue(range.offset() >= previous, "ranges overlap");
                previous = range.offset() + range.bytes();
            }
            try (FakeDevice device = FakeDevice.threaded(0);
                    ExpertArena arena = ExpertArena.allocate(layout);
                    PinnedRanges pinned = ArenaPinner.pin(device, arena, plan, new PinSetting.Automatic(), test)) {
                for (int layer = 0; layer < 3; layer++) {
                    for (int expert = 0; expert < 40; expert++) {
                        assertTrue(resident[layer][expert] || pinned.isPinned(layer, expert));
                        if (pinned.isPinned(layer, expert)) {
                            assertEquals(arena.blob(layer, expert).address(), pinned.deviceAddress(layer, expert));
                        }
                    }
                }
            }
        }
    }

    @Test
    void aCapByNeedLeavesEveryLayerAShare() {
        ArenaLayout layout = Layouts.of(8, 64, 1024, 512, QuantType.Q8_0, false);
        BiPredicate<Integer, Integer> everyOther = (layer, expert) -> expert % 2 == 0;
        PinPlan plan = PinPlan.byNeed(layout, new PinSetting.AtMost(Bytes.GIB), everyOther);
        assertTrue(plan.bytes() <= Bytes.GIB);
        PinPlan half = PinPlan.byNeed(layout, new PinSetting.AtMost(plan.bytes() / 2), everyOther);
        assertEquals(
                8,
                half.ranges().stream().mapToInt(PinPlan.Range::layer).distinct().count());
    }

    @Test
    void theDeviceMayRefuseAtAnySlice() {
        ArenaLayout layout = Layouts.small(6, 8);
        PinPlan plan = PinPlan.wholeLayers(layout, new PinSetting.Automatic());
        for (int refused = 0; refused <= 6; refused++) {
            try (FakeDevice device = FakeDevice.threaded(0);
                    ExpertArena arena = ExpertArena.allocate(layout)) {
                device.faults().failFrom(FakeCall.Kind.REGISTER, refused);
                PinnedRanges pinned = ArenaPinner.pin(device, arena, plan, new PinSetting.Automatic(), NONE_RESIDENT);
                assertEquals(refused, pinned.count());
                for (int layer = 0; layer < 6; layer++) {
                    assertEquals(layer < refused, pinned.isPinned(layer, 7));
                }
                pinned.close();
                assertEquals(List.of(), device.leaks());
            }
        }
    }

    @Test
    void linesOfTheLog() {
        ArenaLayout layout = Layouts.of(2, 64, 1024, 512, QuantType.Q8_0, false);
        assertEquals(
                "arena: 0 slices pinned, 0.00 of 0.20 GiB", ArenaPinner.layerLine(PinnedRanges.none(layout), layout));
        try (FakeDevice device = FakeDevice.threaded(0);
                ExpertArena arena = ExpertArena.allocate(layout)) {
            BiPredicate<Integer, Integer> first = (layer, expert) -> expert < 32;
            PinPlan plan = PinPlan.byNeed(layout, new PinSetting.Automatic(), first);
            PinnedRanges pinned = ArenaPinner.pin(device, arena, plan, new PinSetting.Automatic(), first);
            assertEquals(
                    "arena: pinned by need: 2 ranges, 0.10 GiB cover 100.0 % of the non-resident experts, 2 layers have a share",
                    ArenaPinner.needLine(pinned, layout, first));
            assertFalse(pinned.isPinned(0, 0));
        }
    }
}
