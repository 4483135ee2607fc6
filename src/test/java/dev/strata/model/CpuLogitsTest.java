package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.KvFormat;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The small random models on the CPU backend: bfloat16 weights, float32 activations, float16 keys and values. */
class CpuLogitsTest {
    private static final double TOLERANCE = 2e-3;
    private static final ModelOptions OPTIONS = new ModelOptions(256, 6, 2, KvFormat.F16, false);

    @BeforeEach
    void kernelsAreThere() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void logitsOfEveryPromptAndChunking(String name) {
        Path folder = ReferenceLogitsTest.folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                CpuBackend backend = CpuBackend.create(CpuSettings.standard().withThreads(2));
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Case golden : GoldenLogits.read(folder)) {
                for (int chunk : new int[] {256, 64, 7, 1}) {
                    runner.restart();
                    float[][] logits = runner.append(golden.prompt(), chunk);
                    for (int i = 0; i < golden.rows().length; i++) {
                        String what = name + " prompt of " + golden.prompt().length + " in chunks of " + chunk
                                + ", position " + golden.rows()[i];
                        Logits.assertClose(what, golden.logits()[i], logits[golden.rows()[i]], TOLERANCE);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void greedyContinuations(String name) {
        Path folder = ReferenceLogitsTest.folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                CpuBackend backend = CpuBackend.create(CpuSettings.standard().withThreads(2));
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            LogitsRunner runner = new LogitsRunner(model);
            List<GoldenLogits.Greedy> continuations = GoldenLogits.greedy(folder.resolve("golden.json"));
            for (GoldenLogits.Greedy golden : continuations) {
                runner.restart();
                float[][] logits = runner.append(golden.prompt(), 64);
                float[] last = logits[logits.length - 1];
                for (int i = 0; i < golden.tokens().length; i++) {
                    if (golden.gaps()[i] > 1e-2) {
                        assertEquals(golden.tokens()[i], Logits.argmax(last), name + " token " + i);
                    }
                    last = runner.append(new int[] {golden.tokens()[i]}, 1)[0];
                }
            }
        }
    }
}
