package dev.strata.cuda;

import dev.strata.device.KvFormat;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.*;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class TemporaryTest {
    @Test
    void run() {
        for (boolean overlap : new boolean[] {true, false}) for (Precision precision : Precision.values()) {
        Path folder = Path.of("src/test/resources/golden/reference", "qwen4_exp");
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withDeterministic(true).withOverlap(overlap).withPrecision(precision));
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, KvFormat.F16, false))) {
            LogitsRunner runner = new LogitsRunner(model);
            for (int length : new int[] {40, 200}) {
            int[] prompt = java.util.Arrays.copyOf(GoldenLogits.read(folder).get(3).prompt(), length);
            float[][] first = null;
            for (int chunk : new int[] {256, 256, 128, 64, 36, 13, 13, 7}) {
                runner.restart();
                float[][] again = runner.append(prompt, chunk);
                if (first == null) first = again;
                StringBuilder b = new StringBuilder();
                for (int i = 0; i < prompt.length; i++) {
                    double d = Logits.largestDifference(first[i], again[i]);
                    if (d != 0) b.append(i).append(':').append(String.format("%.1e ", d));
                }
                System.out.println("overlap " + overlap + " " + precision + " length " + length + " chunk " + chunk + " different: " + b.substring(0, Math.min(300, b.length())));
            }
            }
        }
        }
    }
}
