package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.Shared;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Families that are the plain trunk with other data, from both containers. */
class OtherFamiliesTest {
    @ParameterizedTest
    @ValueSource(strings = {"olmoe", "mixtral", "qwen2_moe"})
    void safetensors(String name) {
        Path folder = Shared.require("golden/reference/" + name);
        check(folder, folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"olmoe", "mixtral", "qwen2_moe"})
    void gguf(String name) {
        Path folder = Shared.require("golden/gguf/" + name);
        check(folder, folder.resolve("model.gguf"));
    }

    private static void check(Path golden, Path model) {
        try (ModelFiles files = ModelFileOpener.open(model);
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model loaded = ModelLoader.load(files, backend, new ModelOptions(256, 6, 1, KvFormat.F32, true))) {
            assertFalse(loaded.canDraft());
            for (GoldenLogits.Case known : GoldenLogits.read(golden)) {
                float[][] logits = new LogitsRunner(loaded).append(known.prompt(), 100);
                for (int i = 0; i < known.rows().length; i++) {
                    String what = model + " prompt of " + known.prompt().length + ", position " + known.rows()[i];
                    Logits.assertClose(what, known.logits()[i], logits[known.rows()[i]], 2e-4);
                }
            }
        }
    }
}
