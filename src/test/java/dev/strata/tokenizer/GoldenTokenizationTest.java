package dev.strata.tokenizer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Ids of Hugging Face tokenizers for 45 awkward texts and for rendered conversations. */
class GoldenTokenizationTest {
    @Test
    void qwen3Texts() {
        check(TokenizerFixtures.qwen3Part(), "golden-qwen3.json");
    }

    @Test
    void gptOssTexts() {
        Tokenizer tokenizer = JsonTokenizer.read(
                TokenizerFixtures.resource("gptoss-part.json"), JsonTokenizer.Companions.NONE, "gptoss-part.json");
        check(tokenizer, "golden-gptoss.json");
    }

    @Test
    void qwen3TextsWithTheWholeTokenizer() {
        Optional<Tokenizer> whole = TokenizerFixtures.qwen3();
        assumeTrue(whole.isPresent(), "shared/tokenizers/qwen3 is not here");
        assertEquals(151669, whole.get().vocabularySize());
        check(whole.get(), "golden-qwen3.json");
    }

    @Test
    void theSameTokenizerFromGgufMetadata() throws Exception {
        Map<String, Object> qwen3 = ggufMetadata("qwen3-part.json", "qwen2");
        qwen3.put(GgufTokenizer.NORMALIZER_KEY, "nfc");
        check(GgufTokenizer.read(qwen3, "qwen3.gguf"), "golden-qwen3.json");
        check(GgufTokenizer.read(ggufMetadata("gptoss-part.json", "gpt-4o"), "gptoss.gguf"), "golden-gptoss.json");
    }

    private static void check(Tokenizer tokenizer, String file) {
        JsonNode golden = TokenizerFixtures.golden(file);
        assertEquals(45, golden.get("cases").size());
        for (JsonNode example : golden.get("cases")) {
            String text = example.get("text").asText();
            int[] ids = TokenizerFixtures.ids(example.get("ids"));
            assertArrayEquals(
                    ids,
                    tokenizer.encode(text, true),
                    () -> text + " -> " + Arrays.toString(tokenizer.encode(text, true)));
            assertEquals(example.get("decoded").asText(), tokenizer.decode(ids));
        }
        for (JsonNode chat : golden.get("chat")) {
            assertArrayEquals(
                    TokenizerFixtures.ids(chat.get("ids")),
                    tokenizer.encode(chat.get("rendered").asText(), true));
        }
    }

    /** Writes a tokenizer.json as the converters of GGUF do. */
    static Map<String, Object> ggufMetadata(String resource, String pre) throws Exception {
        JsonNode json = new ObjectMapper().readTree(TokenizerFixtures.resource(resource));
        List<String> tokens = new ArrayList<>();
        List<Object> types = new ArrayList<>();
        json.at("/model/vocab")
                .properties()
                .forEach(entry -> put(tokens, types, entry.getValue().asInt(), entry.getKey(), 1));
        for (JsonNode token : json.get("added_tokens")) {
            put(
                    tokens,
                    types,
                    token.get("id").asInt(),
                    token.get("content").asText(),
                    token.get("special").asBoolean() ? 3 : 4);
        }
        List<String> merges = new ArrayList<>();
        json.at("/model/merges").forEach(merge -> merges.add(merge.asText()));
        Map<String, Object> metadata = new HashMap<>();
        metadata.put("tokenizer.ggml.model", "gpt2");
        metadata.put("tokenizer.ggml.pre", pre);
        metadata.put("tokenizer.ggml.tokens", tokens);
        metadata.put("tokenizer.ggml.token_type", types);
        metadata.put("tokenizer.ggml.merges", merges);
        return metadata;
    }

    private static void put(List<String> tokens, List<Object> types, int id, String text, int type) {
        while (tokens.size() <= id) {
            types.add(5L);
            tokens.add("[PAD" + tokens.size() + "]");
        }
        tokens.set(id, text);
        types.set(id, (long) type);
    }
}
