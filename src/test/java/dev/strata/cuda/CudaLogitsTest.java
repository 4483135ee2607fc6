package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.KvFormat;
import dev.strata.format.GoldenModels;
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
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
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
            // Emulated, a pass can't differ from itself.
            for (int chunk : Cards.real() ? new int[] {256, 13, 1} : new int[] {13, 1}) {
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
            AtomicInteger meanwhile = new AtomicInteger();
            assertTrue(model.meanwhile(meanwhile::incrementAndGet), "the card computes beside the calling thread");
            LogitsRunner runner = new LogitsRunner(model);
            int[] prompt = GoldenLogits.read(folder).get(Cards.real() ? 3 : 0).prompt();
            float[][] once = runner.append(prompt, 64);
            runner.restart();
            float[][] again = runner.append(prompt, 64);
            assertEquals(2 * ((prompt.length + 63) / 64), meanwhile.get(), "once in every pass");
            for (int i = 0; i < prompt.length; i++) {
                assertArrayEquals(once[i], again[i], "position " + i);
            }
        }
    }

    /** One prompt in chunks of one size. */
    private record Run(
            String name, Path folder, CudaOptions options, KvFormat kv, GoldenLogits.Case golden, int chunk) {
        @Override
        public String toString() {
            return name + " prompt of " + golden.prompt().length + " in chunks of " + chunk;
        }
    }

    private interface Check {
        void accept(Run run, float[][] logits);
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
                    float[][] positions = runner.append(golden.prompt(), chunk);
                    float[][] logits = new float[golden.rows().length][];
                    for (int i = 0; i < logits.length; i++) {
                        logits[i] = positions[golden.rows()[i]];
                    }
                    check.accept(new Run(name, folder, options, kv, golden, chunk), logits);
                }
            }
        }
    }

    private static void assertClose(Run run, float[][] logits) {
        for (int i = 0; i < logits.length; i++) {
            Logits.assertClose(run + ", row " + i, run.golden().logits()[i], logits[i], TOLERANCE);
        }
    }

    /**
     * Root mean square of the prompt's differences below 3 % of the logits' deviation, and the same best token where the gap exceeds
     * 0.5. Positions that rounding sends to other experts than the reference's are listed and left out; they have to be few.
     */
    private static void assertNear(Run run, float[][] logits) {
        GoldenLogits.Case golden = run.golden();
        double share = share(golden, logits, Set.of());
        if (share >= 0.03) {
            Set<Integer> flips =
                    RoutingTrace.flips(run.folder(), run.options(), run.kv(), golden.prompt(), run.chunk());
            System.out.println(run + ": other experts at positions " + flips);
            assertTrue(flips.size() <= golden.prompt().length / 20, () -> run + " flips at " + flips);
            double rest = share(golden, logits, flips);
            assertTrue(rest < 0.03, () -> run + " differs by " + rest + " of the logits' deviation beside " + flips);
        }
        for (int row = 0; row < logits.length; row++) {
            if (Logits.gap(golden.logits()[row]) > 0.5) {
                assertEquals(Logits.argmax(golden.logits()[row]), Logits.argmax(logits[row]), run + ", row " + row);
            }
        }
    }

    private static double share(GoldenLogits.Case golden, float[][] logits, Set<Integer> without) {
        double deviation = 0;
        double difference = 0;
        for (int row = 0; row < logits.length; row++) {
            float[] expected = golden.logits()[row];
            double mean = 0;
            for (float value : expected) {
                mean += value / (double) expected.length;
            }
            for (int i = 0; i < expected.length && !without.contains(golden.rows()[row]); i++) {
                deviation += (expected[i] - mean) * (expected[i] - mean);
                difference += ((double) expected[i] - logits[row][i]) * ((double) expected[i] - logits[row][i]);
            }
        }
        return Math.sqrt(difference / deviation);
    }

    private static Path folder(String name) {
        return GoldenModels.folder(name);
    }
}
