package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.PackedFixture;
import dev.strata.format.Shared;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Complete small GGUF models, read in place, against exact logits. */
class GgufLogitsTest {
    private static final ModelOptions OPTIONS = new ModelOptions(256, 6, 1, KvFormat.F32, false);

    @Test
    void unquantizedModel(@TempDir Path unpacked) throws IOException {
        Path folder = Path.of("src/test/resources/golden/gguf/qwen4_exp");
        Path model = unpacked.resolve("model.gguf");
        PackedFixture.unpack(folder.resolve("model.gguf.planes.gz"), model);
        check(model, GoldenLogits.read(folder), 2e-4);
    }

    @Test
    void largerUnquantizedModel() {
        Path folder = Shared.require("golden/gguf/qwen3_next");
        check(folder.resolve("model.gguf"), GoldenLogits.read(folder), 2e-4);
    }

    /** Exact logits are those of the dequantized weights in float32. */
    @ParameterizedTest
    @CsvSource({
        "qwen3_moe_small, Q8_0",
        "qwen3_moe_small, Q4_0",
        "qwen3_moe_small, Q4_K_M",
        "qwen3_moe_small, Q6_K",
        "qwen3_moe_small, IQ4_XS",
        "qwen3_moe_small, IQ3_S",
        "qwen3_moe_small, IQ3_XXS",
        "qwen3_moe_small, IQ2_XS",
        "qwen3_moe_small, IQ1_M",
        "qwen3_moe_small, MXFP4_MOE",
        "qwen3_moe_small, NVFP4",
        "qwen3_5_moe_small, Q8_0",
        "qwen3_5_moe_small, Q4_0",
        "qwen3_5_moe_small, Q4_K_M",
        "qwen3_5_moe_small, Q6_K",
        "qwen3_5_moe_small, IQ4_XS",
        "qwen3_5_moe_small, IQ3_S",
        "qwen3_5_moe_small, IQ3_XXS",
        "qwen3_5_moe_small, IQ2_XS",
        "qwen3_5_moe_small, IQ1_M",
        "qwen3_5_moe_small, MXFP4_MOE"
    })
    void quantizedModels(String name, String type) {
        Path folder = Shared.require("golden/gguf/" + name);
        List<GoldenLogits.Case> cases = GoldenLogits.read(
                folder.resolve("prompts.json"), folder.resolve(type + ".golden.safetensors"), "exact_");
        check(folder.resolve(type + ".gguf"), cases, 3e-4);
    }

    private static void check(Path model, List<GoldenLogits.Case> cases, double tolerance) {
        assertFalse(cases.isEmpty());
        try (ModelFiles files = ModelFileOpener.open(model);
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model loaded = ModelLoader.load(files, backend, OPTIONS)) {
            LogitsRunner runner = new LogitsRunner(loaded);
            for (GoldenLogits.Case golden : cases) {
                runner.restart();
                float[][] logits = runner.append(golden.prompt(), 256);
                assertEquals(golden.prompt().length, logits.length);
                for (int i = 0; i < golden.rows().length; i++) {
                    String what = model + " prompt of " + golden.prompt().length + ", position " + golden.rows()[i];
                    Logits.assertClose(what, golden.logits()[i], logits[golden.rows()[i]], tolerance);
                }
            }
        }
    }
}
