package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small random models of every family against the logits of the implementation they come from. */
class ReferenceLogitsTest {
    private static final double TOLERANCE = 2e-4;
    private static final ModelOptions OPTIONS = new ModelOptions(256, 6, 2, KvFormat.F32, false);

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void logitsOfEveryPromptAndChunking(String name) {
        Path folder = folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            List<GoldenLogits.Case> cases = GoldenLogits.read(folder);
            assertEquals(4, cases.size());
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Case golden : cases) {
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
        Path folder = folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Greedy golden : GoldenLogits.greedy(folder.resolve("golden.json"))) {
                runner.restart();
                float[][] logits = runner.append(golden.prompt(), 64);
                float[] last = logits[logits.length - 1];
                for (int i = 0; i < golden.tokens().length; i++) {
                    if (golden.gaps()[i] > 1e-3) {
                        assertEquals(golden.tokens()[i], Logits.argmax(last), name + " token " + i);
                    }
                    last = runner.append(new int[] {golden.tokens()[i]}, 1)[0];
                }
            }
        }
    }

    static Path folder(String name) {
        return GoldenModels.folder(name);
    }
}
