package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.Shared;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that open but do not make a model, and the intact ones beside them. */
class BadModelTest {
    private static final int[] PROMPT = {1, 5, 9, 100, 33, 7};

    @ParameterizedTest
    @CsvSource({
        "gguf/missing_block_count.gguf, qwen3moe.block_count",
        "gguf/missing_expert_count.gguf, qwen3moe.expert_count",
        "gguf/unknown_arch.gguf, nosucharch",
        "gguf/expert_shape.gguf, blk.0.ffn_up_exps.weight",
        "gguf/expert_shape.gguf, 'expected [32, 32, 4] got [32, 32, 3]'",
        "gguf/nan_scale.gguf, blk.0.ffn_up_exps.weight",
        "gguf/inf_scale.gguf, blk.0.ffn_down_exps.weight",
        "safetensors/config_missing_num_experts, num_experts"
    })
    void isRefusedWithItsName(String file, String named) {
        Path path = Shared.require("golden/bad/" + file);
        ModelFormatException refused = assertThrows(ModelFormatException.class, () -> logits(path));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.contains(named) && message.contains(path.toString()), message);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "gguf/good.gguf",
                "gguf/split_ok/m-00001-of-00002.gguf",
                "safetensors/good/model.safetensors",
                "safetensors/index_ok/model.safetensors.index.json"
            })
    void intactModelsGiveTheirKnownLogits(String name) {
        Path path = Shared.require("golden/bad/" + name);
        JsonNode cases =
                GoldenLogits.json(Shared.require("golden/bad/index.json")).get("cases");
        for (JsonNode entry : cases) {
            if (entry.get("path").asText().equals(name)) {
                checkControl(entry.get("control"), logits(path));
            }
        }
    }

    private static void checkControl(JsonNode control, float[][] logits) {
        int[] best = new int[logits.length];
        for (int i = 0; i < best.length; i++) {
            best[i] = Logits.argmax(logits[i]);
        }
        assertArrayEquals(GoldenLogits.ints(control.get("argmax")), best);
        JsonNode last = control.get("last_position_first_8_logits");
        for (int i = 0; i < last.size(); i++) {
            assertEquals(last.get(i).asDouble(), logits[logits.length - 1][i], 2e-5);
        }
    }

    private static float[][] logits(Path path) {
        try (ModelFiles files = ModelFileOpener.open(path);
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, new ModelOptions(8, 1, 1, KvFormat.F32, false))) {
            return new LogitsRunner(model).append(PROMPT, 8);
        }
    }
}
