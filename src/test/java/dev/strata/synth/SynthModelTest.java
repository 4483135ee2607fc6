package dev.strata.synth;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import dev.strata.format.convert.Conversion;
import dev.strata.format.safetensors.JsonFile;
import dev.strata.model.LogitsRunner;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SynthModelTest {
    private static final int[] PROMPT = {7, 99, 3, 4, 180, 42, 42, 11, 250, 0};

    @TempDir
    private Path folder = Path.of("");

    /** A shape of test size: the configuration of a small reference model. */
    private static SynthShape small(String family) {
        Map<String, Object> config =
                JsonFile.read(Path.of("src/test/resources/golden/reference", family, "config.json"));
        config.put("output_gate_type", "sigmoid");
        config.remove("layer_types");
        config.putIfAbsent("num_experts", config.getOrDefault("num_local_experts", 0L));
        return new SynthShape("small-" + family, family, config);
    }

    @ParameterizedTest
    @CsvSource({
        "qwen3_moe, Q4_0, 0",
        "qwen3_next, Q8_0, 1",
        "qwen3_5_moe, NVFP4, 0",
        "qwen4_exp, IQ4_NL, 1.5",
        "qwen4_exp, IQ1_M, 0"
    })
    void modelsRunFromMemoryAndFromAFileAlike(String family, QuantType type, double skew) throws IOException {
        SynthSpec spec = new SynthSpec("small", type, QuantType.Q8_0, 0, skew, 101, 5);
        Conversion conversion = SynthModel.plan(small(family), spec);
        float[][] memory;
        try (ModelFiles files = SynthModelFiles.of("synth:small", conversion)) {
            memory = logits(files);
        }
        Path path = folder.resolve("model.gguf");
        conversion.run(path, false, 2, (bytes, tensor) -> {});
        try (ModelFiles files = ModelFileOpener.open(path)) {
            assertArrayEquals(memory, logits(files));
        }
        for (float[] row : memory) {
            float largest = 0;
            for (float logit : row) {
                assertTrue(Float.isFinite(logit));
                largest = Math.max(largest, Math.abs(logit));
            }
            assertTrue(largest > 0.5 && largest < 100, "largest logit " + largest);
        }
    }

    private static float[][] logits(ModelFiles files) {
        try (ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, new ModelOptions(16, 1, 1, KvFormat.F32, false))) {
            return new LogitsRunner(model).append(PROMPT, 16);
        }
    }

    @Test
    void publishedShapesHaveTheirPublishedSizes() {
        assertEquals(30.5e9, parameters("qwen3-30b-a3b"), 0.05e9);
        assertEquals(79.7e9, parameters("qwen3-next-80b"), 0.4e9);
        assertEquals(34.7e9, parameters("qwen3.6-35b-a3b"), 0.4e9);
        assertEquals(177e9, parameters("qwen3.8-flash-next:ngram=20000000"), 1e9);
        Conversion cut = SynthModel.plan(SynthSpec.parse("synth:qwen3.8-flash-next:Q2_0:layers=4"));
        assertEquals(
                4L,
                Objects.requireNonNull(cut.plan().metadata().get("qwen4exp.block_count"))
                        .value());
        assertTrue(cut.items().stream()
                .filter(item -> item.source().role() == TensorRole.EXPERTS)
                .allMatch(item -> item.target().type() == QuantType.Q2_0));
    }

    private static double parameters(String specification) {
        return SynthModel.plan(SynthSpec.parse(specification)).plan().tensors().stream()
                .mapToLong(tensor -> tensor.elements())
                .sum();
    }

    @Test
    void rowsOfOddWidthFallBack() {
        Conversion conversion = SynthModel.plan(SynthSpec.parse("qwen3.8-flash-next:Q4_K:layers=4"));
        Map<String, QuantType> types = new HashMap<>();
        conversion
                .items()
                .forEach(item -> types.put(item.target().name(), item.target().type()));
        assertEquals(QuantType.Q4_K, types.get("blk.0.ffn_up_exps.weight"));
        assertEquals(QuantType.Q4_1, types.get("blk.0.ffn_down_exps.weight"));
        assertEquals(QuantType.IQ4_NL, types.get("per_layer_token_embd.weight"));
    }

    @Test
    void partsOfATensorAreTheSameWhereverOneBegins() {
        SynthSpec spec = new SynthSpec("small", QuantType.Q4_0, QuantType.Q8_0, 0, 0, 101, 5);
        try (ModelFiles files = SynthModelFiles.of("synth:small", SynthModel.plan(small("qwen3_moe"), spec))) {
            TensorEntry tensor = files.find("blk.1.ffn_up_exps.weight").orElseThrow();
            var rows = SynthModel.plan(small("qwen3_moe"), spec).items().stream()
                    .filter(item -> item.target().name().equals(tensor.name()))
                    .findFirst()
                    .orElseThrow();
            long rowBytes = rows.target().rowBytes();
            var part = rows.source().rows().stored(QuantType.Q4_0, 7, 3);
            MemorySegment there = files.data(tensor).asSlice(7 * rowBytes, 3 * rowBytes);
            assertTrue(part != null && there.mismatch(part) == -1);
            assertTrue(files.makesTensors());
            MemorySegment copied = MemorySegment.ofArray(new byte[Math.toIntExact(3 * rowBytes)]);
            files.copy(tensor, 7 * rowBytes, 3 * rowBytes, copied);
            assertEquals(-1, there.mismatch(copied));
            assertThrows(IllegalArgumentException.class, () -> files.copy(tensor, 1, rowBytes, copied));
        }
    }

    @Test
    void mistakesInASpecificationAreNamed() {
        for (String wrong : new String[] {
            "qwen5", "qwen3-30b-a3b:Q9", "qwen3-30b-a3b:layers=0", "qwen3-30b-a3b:depth=3", "qwen3-30b-a3b:skew=x"
        }) {
            String message = String.valueOf(assertThrows(IllegalArgumentException.class, () -> SynthSpec.parse(wrong))
                    .getMessage());
            String part = wrong.substring(wrong.indexOf(':') + 1);
            assertTrue(message.contains(part), message);
        }
    }
}
