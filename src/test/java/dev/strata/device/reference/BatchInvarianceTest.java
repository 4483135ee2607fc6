package dev.strata.device.reference;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.strata.device.KvFormat;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.LogitsRunner;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On the reference backend a token's logits have the same bits however the prompt is cut and however many threads there are. */
class BatchInvarianceTest {
    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_5_moe", "qwen4_exp"})
    void chunksAndThreadsDoNotChangeABit(String name) {
        int[] prompt = IntStream.range(0, 75).map(i -> (i * 37 + 11) % 256).toArray();
        float[][] whole = logits(name, prompt, 75, 1);
        assertArrayEquals(whole, logits(name, prompt, 1, 2));
        assertArrayEquals(whole, logits(name, prompt, 33, 3));
    }

    private static float[][] logits(String name, int[] prompt, int chunk, int threads) {
        try (ModelFiles files = ModelFileOpener.open(GoldenModels.folder(name));
                ReferenceBackend backend = ReferenceBackend.create(threads);
                Model model = ModelLoader.load(files, backend, new ModelOptions(80, 2, 1, KvFormat.F32, false))) {
            return new LogitsRunner(model).append(prompt, chunk);
        }
    }
}
