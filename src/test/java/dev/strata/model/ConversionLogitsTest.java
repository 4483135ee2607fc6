package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.TypePlan;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Converted models of every family give the logits that their sources are known to give. */
class ConversionLogitsTest {
    private static final ModelOptions OPTIONS = new ModelOptions(256, 6, 1, KvFormat.F32, false);

    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"})
    void safetensorsToGguf(String name) throws IOException {
        Path source = GoldenModels.folder(name);
        Path target = convert(source, "keep", name + ".gguf");
        try (ModelFiles files = ModelFileOpener.open(target);
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            LogitsRunner runner = new LogitsRunner(model);
            for (GoldenLogits.Case golden : GoldenLogits.read(source)) {
                runner.restart();
                float[][] logits = runner.append(golden.prompt(), 256);
                for (int i = 0; i < golden.rows().length; i++) {
                    String what = name + " prompt of " + golden.prompt().length + ", position " + golden.rows()[i];
                    Logits.assertClose(what, golden.logits()[i], logits[golden.rows()[i]], 2e-4);
                }
            }
        }
    }

    @Test
    void everyTensorHasAPlace() {
        for (String name : new String[] {"qwen3_moe", "qwen3_next", "qwen3_5_moe", "qwen4_exp"}) {
            try (ModelFiles files = ModelFileOpener.open(GoldenModels.folder(name))) {
                Conversion conversion = Conversion.of(files, TypePlan.parse("keep"));
                assertTrue(
                        conversion.plan().unused().isEmpty(),
                        () -> name + ": " + conversion.plan().unused());
            }
        }
    }

    @Test
    void ggufIsRewrittenWithOtherTypes() throws IOException {
        Path source = Path.of("models/strata-tiny/strata-tiny.gguf");
        Path kept = convert(source, "keep", "kept.gguf");
        Path smaller = convert(source, "keep,experts=Q4_0,blk.0.attn_qkv.weight=F16", "smaller.gguf");
        try (ModelFiles original = ModelFileOpener.open(source);
                ModelFiles same = ModelFileOpener.open(kept);
                ModelFiles other = ModelFileOpener.open(smaller)) {
            assertEquals(original.metadata(), same.metadata());
            for (TensorEntry tensor : original.tensors()) {
                TensorEntry copy = same.find(tensor.name()).orElseThrow();
                assertEquals(-1, original.data(tensor).mismatch(same.data(copy)), tensor.name());
            }
            assertEquals(
                    QuantType.Q4_0,
                    other.find("blk.3.ffn_up_exps.weight").orElseThrow().type());
            assertEquals(
                    QuantType.F16,
                    other.find("blk.0.attn_qkv.weight").orElseThrow().type());
            assertEquals(original.tensors().size(), other.tensors().size());
        }
    }

    private Path convert(Path source, String types, String name) throws IOException {
        Path target = folder.resolve(name);
        try (ModelFiles files = ModelFileOpener.open(source)) {
            Conversion.of(files, TypePlan.parse(types)).run(target, false, 2, (bytes, tensor) -> {});
        }
        return target;
    }
}
