package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.device.Backend;
import dev.strata.device.KvFormat;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small random models of every family against the logits of the implementation they come from. */
abstract class LogitsContract {
    private final ModelOptions options;
    private final double tolerance;
    private final double leastGap;

    /**
     * @param tolerance of the normalised error of a position's logits
     * @param leastGap between the two best logits from which on the likeliest token has to be the same
     */
    LogitsContract(KvFormat kv, double tolerance, double leastGap) {
        this.options = new ModelOptions(256, 6, 2, kv, false);
        this.tolerance = tolerance;
        this.leastGap = leastGap;
    }

    /** A new backend, which the test closes. */
    abstract Backend backend();

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void logitsOfEveryPromptAndChunking(String name) {
        Path folder = GoldenModels.folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                Backend backend = backend();
                Model model = ModelLoader.load(files, backend, options)) {
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
                        Logits.assertClose(what, golden.logits()[i], logits[golden.rows()[i]], tolerance);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void greedyContinuations(String name) {
        Path folder = GoldenModels.folder(name);
        try (ModelFiles files = ModelFileOpener.open(folder);
                Backend backend = backend();
                Model model = ModelLoader.load(files, backend, options)) {
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Greedy golden : GoldenLogits.greedy(folder.resolve("golden.json"))) {
                runner.restart();
                float[][] logits = runner.append(golden.prompt(), 64);
                float[] last = logits[logits.length - 1];
                for (int i = 0; i < golden.tokens().length; i++) {
                    if (golden.gaps()[i] > leastGap) {
                        assertEquals(golden.tokens()[i], Logits.argmax(last), name + " token " + i);
                    }
                    last = runner.append(new int[] {golden.tokens()[i]}, 1)[0];
                }
            }
        }
    }
}
