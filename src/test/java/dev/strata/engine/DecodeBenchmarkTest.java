package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.cuda.Cards;
import dev.strata.cuda.CudaOptions;
import dev.strata.format.GoldenModels;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class DecodeBenchmarkTest {
    @Test
    void everyArmStandsBesideItsBound() {
        EngineOptions standard = EngineOptions.DEFAULTS;
        EngineOptions engine = new EngineOptions(
                standard.backend(),
                0,
                standard.kv(),
                16,
                1,
                4,
                1,
                0,
                standard.checkpointEvery(),
                0,
                EngineOptions.Speculation.OFF,
                true);
        Options options = new Options(GoldenModels.folder("qwen3_moe"), List.of(), engine, Variables.defaults());
        List<Map<String, Object>> rows = new ArrayList<>();
        DecodeBenchmark benchmark = new DecodeBenchmark(
                options,
                1,
                3,
                0.5,
                set -> Cards.open(CudaOptions.defaults().withDeterministic(true).withVramLimit(1L << 30)));
        // Emulated kernels are slow: one arm shows what a row holds.
        List<DecodeArm> arms =
                DecodeArm.parse(Cards.real() ? "none,all" : "none", Cards.real() ? "link,in-place" : "link");
        assertTrue(benchmark.run(arms, rows::add), "one hash: " + rows);
        assertEquals(arms.size() + 2, rows.size());
        for (Map<String, Object> row : rows.subList(1, 1 + arms.size())) {
            assertTrue(number(row, "tok_per_s") > 0, row.toString());
            assertTrue(number(row, "part_of_bound") > 0, row.toString());
        }
        assertEquals(1, rows.get(1).get("slots"));
        assertTrue(number(rows.get(1), "hit_rate") < 1);
        assertEquals(true, rows.getLast().get("same"));
    }

    @Test
    void armsAreNamedByCardAndShare() {
        List<DecodeArm> arms = DecodeArm.parse("none, 12,16/link,all", "pool,both");
        assertEquals(
                "none/pool none/both 12/pool 12/both 16/link all/pool all/both",
                String.join(" ", arms.stream().map(DecodeArm::name).toList()));
        assertThrows(IllegalArgumentException.class, () -> DecodeArm.parse("-3", "pool"));
        assertThrows(IllegalArgumentException.class, () -> DecodeArm.parse("12", "disk"));
    }

    private static double number(Map<String, Object> row, String name) {
        return (Double) Objects.requireNonNull(row.get(name));
    }
}
