package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.SafetensorsFolder.Stored;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same model in the other layouts that checkpoints are published in gives the same bits. */
class SafetensorsLayoutTest {
    private static final int[] PROMPT = {161, 176, 229, 149, 199, 213, 59};
    private static final int EXPERTS = 8;
    private static final int LAYERS = 4;

    @TempDir
    Path folder;

    /** As multimodal checkpoints: a longer prefix, packed experts, the text's configuration nested. */
    @ParameterizedTest
    @ValueSource(strings = {"qwen3_5_moe", "qwen4_exp"})
    void multimodalCheckpointWithPackedExperts(String name) throws IOException {
        Path original = GoldenModels.folder(name);
        SafetensorsFolder plain = SafetensorsFolder.read(original);
        SafetensorsFolder changed = new SafetensorsFolder();
        plain.tensors.forEach((tensor, stored) -> {
            if (!tensor.contains(".mlp.experts.")) {
                changed.tensors.put(tensor.replaceFirst("^model\\.", "model.language_model."), stored);
            }
        });
        for (int layer = 0; layer < LAYERS; layer++) {
            pack(plain, changed, layer);
        }
        changed.putF32("model.visual.patch.weight", List.of(2L), 1, 2);
        ObjectNode config = new ObjectMapper().createObjectNode();
        ObjectNode text = (ObjectNode) GoldenLogits.json(original.resolve("config.json"));
        JsonNode end = text.get("eos_token_id");
        config.put("model_type", name).set("text_config", text);
        config.set("eos_token_id", end);
        assertArrayEquals(logits(original), logits(changed.write(folder, config.toString())));
    }

    private static void pack(SafetensorsFolder plain, SafetensorsFolder changed, int layer) {
        ByteArrayOutputStream gateUp = new ByteArrayOutputStream();
        ByteArrayOutputStream down = new ByteArrayOutputStream();
        String from = "model.layers." + layer + ".mlp.experts.";
        for (int expert = 0; expert < EXPERTS; expert++) {
            gateUp.writeBytes(plain.tensor(from + expert + ".gate_proj.weight").bytes());
            gateUp.writeBytes(plain.tensor(from + expert + ".up_proj.weight").bytes());
            down.writeBytes(plain.tensor(from + expert + ".down_proj.weight").bytes());
        }
        List<Long> shape = plain.tensor(from + "0.gate_proj.weight").shape();
        long inner = shape.getFirst();
        long hidden = shape.getLast();
        String to = "model.language_model.layers." + layer + ".mlp.experts.";
        changed.tensors.put(
                to + "gate_up_proj", new Stored("BF16", List.of(8L, 2 * inner, hidden), gateUp.toByteArray()));
        changed.tensors.put(to + "down_proj", new Stored("BF16", List.of(8L, hidden, inner), down.toByteArray()));
    }

    /** Without layer_types the interval decides, and the older flat rope keys are read. */
    @Test
    void olderConfigurationKeys() throws IOException {
        Path original = GoldenModels.folder("qwen3_next");
        ObjectNode config = (ObjectNode) GoldenLogits.json(original.resolve("config.json"));
        config.remove(List.of("layer_types", "rope_parameters"));
        config.put("rope_theta", 10000000.0).putNull("rope_scaling");
        config.put("full_attention_interval", 4);
        assertEquals(0.25, config.get("partial_rotary_factor").asDouble());
        SafetensorsFolder same = SafetensorsFolder.read(original);
        assertArrayEquals(logits(original), logits(same.write(folder, config.toString())));
    }

    private static float[][] logits(Path model) {
        try (ModelFiles files = ModelFileOpener.open(model);
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model loaded = ModelLoader.load(files, backend, new ModelOptions(8, 1, 1, KvFormat.F32, false))) {
            assertEquals(List.of(2), loaded.config().endTokens());
            return new LogitsRunner(loaded).append(PROMPT, 8);
        }
    }
}
