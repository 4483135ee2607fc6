package dev.strata.cuda;

import dev.strata.format.GoldenModels;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small random models of every family against the logits of the implementation they come from. */
class CudaLogitsTest {
    private static final double TOLERANCE = 2e-3;

    /** Longer prompts take too long on emulated kernels. */
    private static final int EMULATED_ROWS = 24;

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void float32Logits(String name) {
        check(name, CudaOptions.defaults().withPrecision(Precision.F32), KvFormat.F32, CudaLogitsTest::assertClose);
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void mixedLogits(String name) {
        check(name, CudaOptions.defaults(), KvFormat.F16, CudaLogitsTest::assertNear);
    }

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_5_moe", "qwen4_exp"})
    void deterministicLogitsDoNotDependOnChunks(String name) {
        Path folder = folder(name);
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withDeterministic(true));
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, KvFormat.F16, false))) {
            LogitsRunner runner = new LogitsRunner(model);
            int[] prompt = GoldenLogits.read(folder).get(Cards.real() ? 3 : 0).prompt();
            float[][] whole = runner.append(prompt, 256);
            for (int chunk : new int[] {256, 13, 1}) {
                runner.restart();
                float[][] again = runner.append(prompt, chunk);
                for (int i = 0; i < prompt.length; i++) {
                    assertArrayEquals(whole[i], again[i], name + " in chunks of " + chunk + ", position " + i);
                }
            }
        }
    }

    @Test
    void twoRunsGiveTheSameBytes() {
        Path folder = folder("qwen3_5_moe");
        try (CudaBackend backend = Cards.open(CudaOptions.defaults());
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, KvFormat.F16, false))) {
            LogitsRunner runner = new LogitsRunner(model);
            int[] prompt = GoldenLogits.read(folder).get(Cards.real() ? 3 : 0).prompt();
            float[][] once = runner.append(prompt, 64);
            runner.restart();
            float[][] again = runner.append(prompt, 64);
            for (int i = 0; i < prompt.length; i++) {
                assertArrayEquals(once[i], again[i], "position " + i);
            }
        }
    }

    private interface Check {
        void accept(String what, float[][] golden, float[][] logits);
    }

    private static void check(String name, CudaOptions options, KvFormat kv, Check check) {
        Path folder = folder(name);
        try (CudaBackend backend = Cards.open(options);
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, kv, false))) {
            List<GoldenLogits.Case> cases = GoldenLogits.read(folder);
            assertEquals(4, cases.size());
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Case golden : cases) {
                if (!Cards.real() && golden.prompt().length > EMULATED_ROWS) {
                    continue;
                }
                for (int chunk : Cards.real() ? new int[] {256, 64, 7, 1} : new int[] {256, 5, 1}) {
                    runner.restart();
                    float[][] all = runner.append(golden.prompt(), chunk);
                    float[][] logits = new float[golden.rows().length][];
                    for (int i = 0; i < logits.length; i++) {
                        logits[i] = all[golden.rows()[i]];
                    }
                    check.accept(
                            name + " prompt of " + golden.prompt().length + " in chunks of " + chunk,
                            golden.logits(),
                            logits);
                }
            }
        }
    }

    private static void assertClose(String what, float[][] golden, float[][] logits) {
        for (int i = 0; i < golden.length; i++) {
            Logits.assertClose(what + ", row " + i, golden[i], logits[i], TOLERANCE);
        }
    }

    /**
     * Root mean square of the prompt's differences below 3 % of the logits' deviation, and the same best token where the gap exceeds
     * 0.5. A position that rounding sends to another expert or block counts for one row of the prompt, so short prompts get more room.
     */
    private static void assertNear(String what, float[][] golden, float[][] logits) {
        double deviation = 0;
        double difference = 0;
        for (int row = 0; row < golden.length; row++) {
            double mean = 0;
            for (float value : golden[row]) {
                mean += value / (double) golden[row].length;
            }
            for (int i = 0; i < golden[row].length; i++) {
                deviation += (golden[row][i] - mean) * (golden[row][i] - mean);
                difference += ((double) golden[row][i] - logits[row][i]) * ((double) golden[row][i] - logits[row][i]);
            }
            if (Logits.gap(golden[row]) > 0.5) {
                assertEquals(Logits.argmax(golden[row]), Logits.argmax(logits[row]), what + ", row " + row);
            }
        }
        double share = Math.sqrt(difference / deviation);
        assertTrue(share < 0.03, () -> what + " differs by " + share + " of the logits' deviation");
    }

    private static Path folder(String name) {
        return GoldenModels.folder(name);
    }
}
