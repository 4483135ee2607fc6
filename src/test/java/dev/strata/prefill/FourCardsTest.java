package dev.strata.prefill;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.Layouts;
import dev.strata.expert.SlotPlan;
import dev.strata.format.QuantType;
import dev.strata.memory.Bytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The worked examples of docs/memory-tiers.md are what the planner says. */
class FourCardsTest {
    private static final ArenaLayout MODEL = Layouts.of(48, 512, 2560, 640, QuantType.NVFP4, true);
    private static final long DENSE = (long) (2.95 * Bytes.GIB);
    private static final double KV_BYTES_A_TOKEN = 12.4 * 1024;
    private static final long RESERVE = 700 * Bytes.MIB;
    private static final int SPARE_SLOTS = 104;

    /** Activations and workspaces, as measured on an H200: what does not depend on the rows of a pass, and what each row takes. */
    private static final long CONSTANT = 430 * Bytes.MIB;

    private static final long A_ROW = 570_000;

    /** Of a card's memory, what a process can get. */
    private static final double USABLE = 0.97;

    private static String row(int gigabytes, int context) {
        long free = (long) (gigabytes * USABLE * Bytes.GIB);
        long cache = free - DENSE - (long) (context * KV_BYTES_A_TOKEN) - CONSTANT - 1023 * A_ROW - RESERVE;
        long capacity = cache - SPARE_SLOTS * MODEL.maxStride();
        SlotPlan slots = SlotPlan.fit(MODEL, ExpertProfile.even(MODEL).ranking(), capacity, Integer.MAX_VALUE);
        PrefillPlan plan = PrefillPlan.of(
                new PrefillPlan.Case(
                        slots,
                        capacity,
                        MODEL.maxStride(),
                        slots.slots() >= StagerSizing.SLOTS_OF_LONG_RING ? 2 * StagerSizing.RING : StagerSizing.RING,
                        rows -> CONSTANT + rows * A_ROW,
                        1,
                        true,
                        PrefillPlan.KEPT_SLOTS),
                ChunkSetting.parse("auto", ChunkSetting.AUTO_MOST));
        double bytes = (double) (MODEL.totalExperts() - slots.slots() + plan.lentSlots()) * MODEL.maxStride();
        return String.format(
                Locale.ROOT,
                "| %d GB | %,d | %,d | %,d | %d %% | %,d | %.1f GB | %.1f s | %.1f s |",
                gigabytes,
                context,
                plan.chunk(),
                slots.slots(),
                Math.round(100.0 * slots.slots() / MODEL.totalExperts()),
                plan.lentSlots(),
                bytes / 1e9,
                bytes / 50e9,
                bytes / 25e9);
    }

    @Test
    void theTableIsWhatThePlannerSays() throws IOException {
        List<String> documented = Files.readAllLines(Path.of("docs/memory-tiers.md")).stream()
                .filter(Pattern.compile("^\\| \\d+ GB \\|").asPredicate())
                .toList();
        assertEquals(List.of(row(12, 32_768), row(16, 65_536), row(24, 131_072), row(32, 262_144)), documented);
    }
}
