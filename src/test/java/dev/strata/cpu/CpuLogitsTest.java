package dev.strata.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.device.KvFormat;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.GoldenLogits;
import dev.strata.model.Logits;
import dev.strata.model.LogitsRunner;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small random models of every family on the C++ kernels against the logits of the implementation they come from. */
class CpuLogitsTest {
    private static final double TOLERANCE = 2e-3;

    @BeforeEach
    void needsKernels() {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void logitsOfEveryPromptAndChunking(String name) {
        Path folder = Path.of("src/test/resources/golden/reference", name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                CpuBackend backend = CpuBackend.create(CpuSettings.standard().withThreads(2));
                Model model =
                        ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, KvFormat.F16, false))) {
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
}
