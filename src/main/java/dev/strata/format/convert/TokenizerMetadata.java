package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufValueType;
import dev.strata.format.safetensors.JsonFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Tokenizer, chat template and sampling defaults of a Hugging Face folder as GGUF metadata. */
final class TokenizerMetadata {
    private static final long NORMAL = 1;
    private static final long CONTROL = 3;
    private static final long USER_DEFINED = 4;
    private static final long UNUSED = 5;

    private final ModelFiles files;
    private final Map<String, GgufValue> entries = new LinkedHashMap<>();

    private TokenizerMetadata(ModelFiles files) {
        this.files = files;
    }

    static Map<String, GgufValue> of(ModelFiles files) {
        TokenizerMetadata tokenizer = new TokenizerMetadata(files);
        Optional<String> text = files.companion("tokenizer.json");
        if (text.isPresent()) {
            tokenizer.vocabulary(JsonFile.parse(files.path() + "/tokenizer.json", text.get()));
        }
        Map<String, Object> settings = tokenizer.json("tokenizer_config.json");
        Map<String, Object> generation = tokenizer.json("generation_config.json");
        tokenizer.specialTokens(settings, generation);
        tokenizer.template(settings);
        tokenizer.sampling(generation);
        return tokenizer.entries;
    }

    private Map<String, Object> json(String name) {
        return files.companion(name)
                .map(text -> JsonFile.parse(files.path() + "/" + name, text))
                .orElse(Map.of());
    }

    private void vocabulary(Map<String, Object> tokenizer) {
        Map<String, Object> model = JsonFile.object(tokenizer, "model");
        if (!"BPE".equals(model.get("type"))) {
            throw new ModelFormatException(files.path() + "/tokenizer.json: model type " + model.get("type")
                    + " cannot be converted, only byte-level BPE");
        }
        Map<String, Object> vocabulary = JsonFile.object(model, "vocab");
        List<Object> added = JsonFile.list(tokenizer, "added_tokens");
        long size = config("vocab_size").orElse(0L);
        for (Object id : vocabulary.values()) {
            size = Math.max(size, id(id) + 1);
        }
        List<String> tokens = new ArrayList<>(Collections.nCopies(Math.toIntExact(size), ""));
        List<Long> types = new ArrayList<>(Collections.nCopies(tokens.size(), UNUSED));
        vocabulary.forEach((token, id) -> {
            tokens.set(id(id), token);
            types.set(id(id), NORMAL);
        });
        for (Object each : added) {
            Map<String, Object> token = JsonFile.asObject(each);
            int id = id(token.get("id"));
            while (tokens.size() <= id) {
                tokens.add("");
                types.add(UNUSED);
            }
            tokens.set(id, JsonFile.text(token, "content"));
            types.set(id, Boolean.TRUE.equals(token.get("special")) ? CONTROL : USER_DEFINED);
        }
        for (int id = 0; id < tokens.size(); id++) {
            if (types.get(id) == UNUSED) {
                tokens.set(id, "[PAD" + id + "]");
            }
        }
        List<String> merges = JsonFile.list(model, "merges").stream()
                .map(merge -> merge instanceof List<?> pair ? pair.getFirst() + " " + pair.getLast() : (String) merge)
                .toList();
        put("model", GgufValue.string("gpt2"));
        put("pre", GgufValue.string(preTokenizer(tokenizer)));
        put("tokens", GgufValue.array(GgufValueType.STRING, tokens));
        put("token_type", GgufValue.array(GgufValueType.INT32, types));
        put("merges", GgufValue.array(GgufValueType.STRING, merges));
    }

    private static int id(@Nullable Object value) {
        if (value instanceof Long id && id >= 0 && id < 1 << 24) {
            return (int) (long) id;
        }
        throw new ModelFormatException("tokenizer.json: " + value + " is not a token id");
    }

    /** The name under which GGUF readers know the split pattern. */
    private String preTokenizer(Map<String, Object> tokenizer) {
        String text = String.valueOf(tokenizer.get("pre_tokenizer"));
        if (text.contains("\\p{M}")) {
            return "qwen35";
        }
        if (text.contains("\\p{Lu}")) {
            return "gpt-4o";
        }
        if (text.contains("\\p{N}{1,3}")) {
            return "llama-bpe";
        }
        if (text.contains("\\p{N}|")) {
            return "qwen2";
        }
        if (text.contains("ByteLevel")) {
            return "gpt-2";
        }
        throw new ModelFormatException(files.path()
                + "/tokenizer.json: its pre_tokenizer is none of qwen2, qwen35, gpt-4o, llama-bpe, gpt-2: " + text);
    }

    private void specialTokens(Map<String, Object> settings, Map<String, Object> generation) {
        LinkedHashSet<Long> ends = new LinkedHashSet<>();
        named(settings, "eos_token").ifPresent(ends::add);
        ends.addAll(HuggingFaceConfig.ids(generation, "eos_token_id"));
        Map<String, Object> nested = JsonFile.object(files.metadata(), "text_config");
        ends.addAll(HuggingFaceConfig.ids(nested.isEmpty() ? files.metadata() : nested, "eos_token_id"));
        if (!ends.isEmpty()) {
            put("eos_token_id", GgufValue.uint32(ends.removeFirst()));
        }
        if (!ends.isEmpty()) {
            put("eot_token_id", GgufValue.uint32(ends.removeFirst()));
        }
        named(settings, "bos_token")
                .or(() -> config("bos_token_id"))
                .ifPresent(id -> put("bos_token_id", GgufValue.uint32(id)));
        named(settings, "pad_token")
                .or(() -> config("pad_token_id"))
                .ifPresent(id -> put("padding_token_id", GgufValue.uint32(id)));
        put("add_bos_token", GgufValue.bool(Boolean.TRUE.equals(settings.get("add_bos_token"))));
    }

    private Optional<Long> config(String key) {
        return HuggingFaceConfig.of(files.path(), files.metadata()).number(key);
    }

    /** The id of a special token that the settings name by its text. */
    private Optional<Long> named(Map<String, Object> settings, String key) {
        Object value = settings.get(key);
        Object text = value instanceof Map<?, ?> described ? described.get("content") : value;
        GgufValue tokens = entries.get("tokenizer.ggml.tokens");
        if (text == null || tokens == null) {
            return Optional.empty();
        }
        long id = ((List<?>) tokens.value()).indexOf(text);
        return id < 0 ? Optional.empty() : Optional.of(id);
    }

    private void template(Map<String, Object> settings) {
        files.companion("chat_template.jinja")
                .or(() -> settings.get("chat_template") instanceof String template
                        ? Optional.of(template)
                        : Optional.empty())
                .ifPresent(template -> entries.put("tokenizer.chat_template", GgufValue.string(template)));
    }

    private void sampling(Map<String, Object> generation) {
        Map.of(
                        "temperature", "temp",
                        "top_p", "top_p",
                        "top_k", "top_k",
                        "min_p", "min_p",
                        "repetition_penalty", "penalty_repeat")
                .forEach((key, name) -> {
                    if (generation.get(key) instanceof Number number) {
                        entries.put(
                                "general.sampling." + name,
                                key.equals("top_k")
                                        ? GgufValue.of(GgufValueType.INT32, number.longValue())
                                        : GgufValue.float32(number.doubleValue()));
                    }
                });
    }

    private void put(String key, GgufValue value) {
        entries.put("tokenizer.ggml." + key, value);
    }
}
