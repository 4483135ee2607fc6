package dev.strata.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.memory.MemoryPlan.Tier;
import dev.strata.memory.MemoryPlan.Wish;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Decisions of the memory plan as data; sizes in GiB. */
class MemoryPlanTest {
    @ParameterizedTest
    @CsvSource({
        // usable, experts, wish, budget, in place, tier, resident
        "120, 63, AUTO,     0,  false, ARENA,  63",
        "120, 63, AUTO,     0,  true,  MAPPED, 0",
        "60,  63, AUTO,     0,  false, TIERED, 55",
        "60,  63, AUTO,     0,  true,  TIERED, 55",
        "3,   63, AUTO,     0,  false, FILE,   0",
        "120, 63, RESIDENT, 0,  true,  ARENA,  63",
        "30,  63, MAPPED,   0,  false, MAPPED, 0",
        "30,  63, BUDGET,   18, false, TIERED, 18",
        "30,  63, BUDGET,   40, false, TIERED, 25",
        "120, 63, BUDGET,   80, false, ARENA,  63",
        "120, 63, LOW_RAM,  0,  false, ARENA,  63",
        "40,  63, LOW_RAM,  0,  false, TIERED, 35",
    })
    void tiers(long usable, long experts, Wish wish, long budget, boolean inPlace, Tier tier, long resident) {
        MemoryPlan plan = MemoryPlan.of(at(usable, experts, wish, budget, inPlace));
        assertEquals(tier, plan.tier());
        assertEquals(resident, plan.residentBytes() / Bytes.GIB);
    }

    @Test
    void whatCannotFitIsRefusedWithItsNumbers() {
        String message = String.valueOf(assertThrows(
                        IllegalStateException.class, () -> MemoryPlan.of(at(60, 63, Wish.RESIDENT, 0, false)))
                .getMessage());
        assertTrue(
                message.contains("63.0 GiB") && message.contains("60.0 GiB") && message.contains("--low-ram"), message);
    }

    @Test
    void theTableNamesLimitAndClampedBudget() {
        String table = MemoryPlan.of(at(30, 63, Wish.BUDGET, 40, false)).table();
        assertTrue(table.startsWith("memory plan: tiered"), table);
        assertTrue(table.contains("control group /box"), table);
        assertTrue(table.contains("budget of 40.0 GiB clamped"), table);
        assertTrue(table.contains("read from the files"), table);
    }

    private static MemoryPlan.Case at(long usable, long experts, Wish wish, long budget, boolean inPlace) {
        HostMemory host = new HostMemory(
                200 * Bytes.GIB, 150 * Bytes.GIB, usable * Bytes.GIB, "/box", Long.MAX_VALUE, Long.MAX_VALUE);
        return new MemoryPlan.Case(host, experts * Bytes.GIB, wish, budget * Bytes.GIB, inPlace);
    }
}
