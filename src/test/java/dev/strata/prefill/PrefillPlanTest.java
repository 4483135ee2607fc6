package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.Layouts;
import dev.strata.expert.SlotPlan;
import dev.strata.format.QuantType;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Chunk, ring and loan as data. */
class PrefillPlanTest {
    private static final ArenaLayout MODEL = Layouts.of(48, 512, 2560, 640, QuantType.NVFP4, true);
    private static final long PER_ROW = 430_000;

    @ParameterizedTest
    @CsvSource({
        "auto,       7000, 1.0, 8192",
        "auto:32768, 7000, 1.0, 32768",
        "auto:32768, 6000, 1.0, 31744",
        "auto:32768, 6000, 0.0, 29696",
        "auto,       2590, 0.0, 8192",
        "auto:32768, 2590, 0.0, 11264",
        "auto,       1500, 0.0, 5632",
        "auto,        800, 0.0, 1536",
        "4096,       2000, 0.0, 4096",
        "32768,      2000, 0.0, 8192",
    })
    void chunks(String flag, int slots, double pinned, int chunk) {
        PrefillPlan plan = PrefillPlan.of(at(slots, pinned), ChunkSetting.parse(flag, 8192));
        assertEquals(chunk, plan.chunk());
        assertTrue(plan.lentSlots() + PrefillPlan.KEPT_SLOTS <= slots);
        assertEquals(PrefillPlan.carve(plan.ringBytes(), chunk * PER_ROW).bytes(), plan.loanBytes());
    }

    @Test
    void theLoanCoversRingAndChunk() {
        PrefillPlan plan = PrefillPlan.of(at(7000, 1), ChunkSetting.parse("auto", 8192));
        assertEquals(384 * MODEL.maxStride(), plan.ringBytes());
        assertEquals(
                Math.ceilDiv(plan.loanBytes(), MODEL.maxStride()),
                plan.lentSlots(),
                "whole slots at the tail are lent");
    }

    @Test
    void theLargestChunkThatFits() {
        for (int slots = 600; slots < 7000; slots += 371) {
            PrefillPlan.Case at = at(slots, 0);
            PrefillPlan plan = PrefillPlan.of(at, ChunkSetting.parse("auto:32768", 8192));
            assertTrue(plan.lentSlots() <= 0.85 * slots);
            if (plan.chunk() < 32768) {
                int larger = plan.chunk();
                do {
                    larger++;
                } while (PrefillPlan.smaller(larger + 1) <= plan.chunk());
                long loan =
                        PrefillPlan.carve(plan.ringBytes(), larger * PER_ROW).bytes();
                int lent = slots - at.slots().firstLent(loan, at.cacheBytes());
                assertTrue(lent > 0.85 * slots || lent + 128 > slots, "a larger chunk fits into " + slots);
            }
        }
    }

    @Test
    void stepsOfAThousandAboveEightThousand() {
        assertEquals(31744, PrefillPlan.smaller(32768));
        assertEquals(8192, PrefillPlan.smaller(9216));
        assertEquals(7680, PrefillPlan.smaller(8192));
        assertEquals(1024, PrefillPlan.smaller(1536));
        assertEquals(768, PrefillPlan.smaller(1024));
        assertEquals(256, PrefillPlan.smaller(512));
    }

    @Test
    void tooFewSlotsSaysHowToMakeRoom() {
        IllegalStateException refused = assertThrows(
                IllegalStateException.class, () -> PrefillPlan.of(at(500, 0), ChunkSetting.parse("auto", 8192)));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.contains("500 slots") && message.contains("STRATA_PREFILL_RING"), message);
    }

    @Test
    void flagsOfTheChunk() {
        assertEquals(new ChunkSetting(OptionalInt.empty(), 8192), ChunkSetting.parse("auto", 8192));
        assertEquals(new ChunkSetting(OptionalInt.empty(), 16384), ChunkSetting.parse("auto:16384", 8192));
        assertEquals(OptionalInt.of(2048), ChunkSetting.parse("2048", 8192).chunk());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "auto:", "auto:65536", "255", "32769", "big", "-1"})
    void otherChunksAreRefused(String text) {
        String message =
                String.valueOf(assertThrows(IllegalArgumentException.class, () -> ChunkSetting.parse(text, 8192))
                        .getMessage());
        assertTrue(message.contains("--prefill"), message);
    }

    private static PrefillPlan.Case at(int slots, double pinned) {
        SlotPlan plan = SlotPlan.fit(MODEL, ExpertProfile.even(MODEL).ranking(), Long.MAX_VALUE, slots);
        return new PrefillPlan.Case(
                plan,
                plan.bytes(),
                MODEL.maxStride(),
                384,
                rows -> rows * PER_ROW,
                pinned,
                true,
                PrefillPlan.KEPT_SLOTS);
    }
}
