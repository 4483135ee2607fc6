package dev.strata.tokenizer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.Shared;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tokenizers inside model files. */
class GgufTokenizationTest {
    /** Ids that llama.cpp gives for the same files; one pre-tokenizer each. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "qwen3_next",
                "qwen4_exp",
                "qwen2_moe",
                "olmoe",
                "mixtral",
                "gpt_oss",
                "glm4_moe",
                "deepseek_v3",
                "minimax_m2"
            })
    void idsOfLlamaCpp(String directory) throws Exception {
        Path folder = Shared.require("golden/gguf/" + directory);
        Path cases = Shared.require("golden/gguf/" + directory + "/tokenize.json");
        JsonNode golden = new ObjectMapper().readTree(cases.toFile());
        try (ModelFiles files = ModelFileOpener.open(folder.resolve("model.gguf"))) {
            Tokenizer tokenizer = TokenizerLoader.load(files);
            for (JsonNode example : golden.get("cases")) {
                String text = example.get("text").asText();
                int[] ids = tokenizer.encode(text, true);
                assertArrayEquals(
                        TokenizerFixtures.ids(example.get("ids")), ids, () -> text + " -> " + Arrays.toString(ids));
            }
        }
    }

    @Test
    void folderOfSafetensorsWithItsCompanions() {
        try (ModelFiles files = ModelFileOpener.open(Shared.require("models/strata-tiny"))) {
            Tokenizer tokenizer = TokenizerLoader.load(files);
            assertEquals(4096, tokenizer.vocabularySize());
            assertEquals(
                    new TreeSet<>(Arrays.asList(4087, 4089)),
                    tokenizer.specialTokens().end());
        }
    }
}
