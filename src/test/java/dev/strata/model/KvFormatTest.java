package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What storing keys and values in fewer bits costs. */
class KvFormatTest {
    @ParameterizedTest
    @CsvSource({
        "qwen3_moe, F16, 1e-3",
        "qwen3_moe, INT8, 2e-2",
        "qwen3_moe, Q4, 0.12",
        "qwen3_next, F16, 1e-3",
        "qwen3_next, INT8, 2e-2",
        "qwen3_next, Q4, 3e-2"
    })
    void errorStaysBelow(String name, KvFormat format, double bound) {
        Path folder = GoldenModels.folder(name);
        List<GoldenLogits.Case> cases = GoldenLogits.read(folder);
        GoldenLogits.Case golden = cases.get(2);
        try (ModelFiles files = ModelFileOpener.open(folder);
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, new ModelOptions(128, 2, 1, format, false))) {
            float[][] logits = new LogitsRunner(model).append(golden.prompt(), 128);
            double sum = 0;
            for (int i = 0; i < logits.length; i++) {
                sum += Math.pow(Logits.normalisedError(golden.logits()[i], logits[i]), 2);
            }
            double error = Math.sqrt(sum / logits.length);
            assertTrue(error < bound, name + " with " + format + ": " + error);
            assertTrue(error > 0, "the format is not used");
        }
    }
}
