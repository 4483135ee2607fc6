package dev.strata.expert;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.HostBuffer;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which experts that were brought anyway get a slot. */
class NewcomersTest {
    private static final ArenaLayout MODEL = Layouts.small(2, 8);

    @Test
    void theMostUsedReplaceTheLeastUsedOfTheirLayer() {
        ExpertUsage usage = new ExpertUsage(ExpertProfile.even(MODEL), 0);
        use(usage, 0, 5, 1, 3, 6, 4, 2, 1, 9);
        use(usage, 1, 5, 5, 5, 5, 9, 1, 0, 0);
        // Experts 0 to 3 of both layers have the slots.
        SlotPlan plan = SlotPlan.fit(MODEL, ExpertProfile.even(MODEL).ranking(), Long.MAX_VALUE, 8);
        try (Arena arena = Arena.ofConfined();
                SlotCache cache = new SlotCache(MODEL, plan, HostBuffer.of(arena.allocate(plan.bytes())))) {
            for (int slot = 0; slot < cache.slots(); slot++) {
                cache.loading(slot);
                cache.ready(slot);
            }
            Newcomers newcomers = new Newcomers(6);
            newcomers.add(0, 5, 50);
            newcomers.add(1, 5, 51);
            newcomers.add(0, 6, 60);
            newcomers.add(0, 4, 40);
            newcomers.add(0, 7, 70);
            newcomers.add(0, 0, 0);
            assertEquals(
                    List.of("layer 0: 7 of 70 for 1", "layer 0: 4 of 40 for 2"), admitted(newcomers, cache, usage));
            assertEquals(List.of(), admitted(newcomers, cache, usage), "those of an earlier step are forgotten");
        }
    }

    private static List<String> admitted(Newcomers newcomers, SlotCache cache, ExpertUsage usage) {
        List<String> taken = new ArrayList<>();
        int admitted = newcomers.admit(cache, usage, 1.05f, (slot, layer, newcomer, place) -> {
            taken.add("layer " + layer + ": " + newcomer + " of " + place + " for " + cache.expert(slot));
            cache.replace(slot, newcomer);
            cache.loading(slot);
            cache.ready(slot);
        });
        assertEquals(taken.size(), admitted);
        return taken;
    }

    private static void use(ExpertUsage usage, int layer, int... counts) {
        for (int expert = 0; expert < counts.length; expert++) {
            for (int i = 0; i < counts[expert]; i++) {
                usage.count(layer, expert, true, 1);
            }
        }
    }
}
