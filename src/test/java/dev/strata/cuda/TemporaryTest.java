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
        Path folder = Path.of("src/test/resources/golden/reference", "qwen4_exp");
        try (CudaBackend backend = Cards.open(CudaOptions.defaults().withDeterministic(true));
                ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, backend, new ModelOptions(256, 6, 2, KvFormat.F16, false))) {
            LogitsRunner runner = new LogitsRunner(model);
            int[] prompt = java.util.Arrays.copyOf(GoldenLogits.read(folder).get(3).prompt(), 40);
            float[][] whole = runner.append(prompt, 256);
                runner.restart();
                float[][] again = runner.append(prompt, 13);
                for (int i = 0; i < prompt.length; i++) {
                    System.out.println(i + " " + java.util.Arrays.equals(whole[i], again[i]) + " " + Logits.largestDifference(whole[i], again[i]));
                }
        }
    }
}
