package dev.strata.tokenizer;

import dev.strata.format.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads a tokenizer from GGUF metadata ({@code tokenizer.ggml.*}). */
final class GgufTokenizer {
    static final String NORMALIZER_KEY = "tokenizer.strata.normalizer";

    private static final int NORMAL = 1;
    private static final int CONTROL = 3;
    private static final int USER_DEFINED = 4;
    private static final int UNUSED = 5;

    private final Map<String, Object> metadata;
    private final String source;

    private GgufTokenizer(Map<String, Object> metadata, String source) {
        this.metadata = metadata;
        this.source = source;
    }

    static Tokenizer read(Map<String, Object> metadata, String source) {
        return new GgufTokenizer(metadata, source).read();
    }

    private Tokenizer read() {
        String model = string("tokenizer.ggml.model");
        if (!model.equals("gpt2")) {
            throw new ModelFormatException(source + ": tokenizer.ggml.model is \"" + model
                    + "\". Only \"gpt2\" (byte-level BPE) is supported.");
        }
        PreTokenizers.Known known = PreTokenizers.named(string("tokenizer.ggml.pre"), source);
        List<?> tokens = list("tokenizer.ggml.tokens");
        List<?> types =
                metadata.containsKey("tokenizer.ggml.token_type") ? list("tokenizer.ggml.token_type") : List.of();
        byte[][] vocabulary = new byte[tokens.size()][];
        List<AddedTokens.Added> added = new ArrayList<>();
        for (int id = 0; id < vocabulary.length; id++) {
            String text = (String) tokens.get(id);
            int type = id < types.size() && types.get(id) instanceof Number number ? number.intValue() : NORMAL;
            byte[] bytes = type == CONTROL || type == USER_DEFINED || type == UNUSED ? null : ByteLevel.decode(text);
            vocabulary[id] = bytes == null ? new byte[0] : bytes;
            if (bytes == null && type != UNUSED) {
                added.add(new AddedTokens.Added(id, text, Roles.isControl(text, type == CONTROL), false, false, false));
            }
        }
        TokenTable table = new TokenTable(vocabulary);
        MergeReader merges = new MergeReader(table, source);
        for (Object merge : list("tokenizer.ggml.merges")) {
            merges.add((String) merge);
        }
        return BpeTokenizer.of(new BpeModel(
                table,
                merges.merges(),
                added,
                known.preTokenizer(),
                normalized(),
                known.ignoreMerges(),
                roles(added),
                source));
    }

    /** The container has no key for it; files converted here from a tokenizer.json with NFC carry one of our own. */
    private boolean normalized() {
        return metadata.get(NORMALIZER_KEY) instanceof String name && name.equalsIgnoreCase("nfc");
    }

    private SpecialTokens roles(List<AddedTokens.Added> added) {
        return new Roles(added)
                .begin(metadata.get("tokenizer.ggml.bos_token_id"))
                .addBegin(Boolean.TRUE.equals(metadata.get("tokenizer.ggml.add_bos_token")))
                .end(metadata.get("tokenizer.ggml.eos_token_id"))
                .end(metadata.get("tokenizer.ggml.eot_token_id"))
                .end(metadata.get("tokenizer.ggml.eom_token_id"))
                .end(metadata.get("tokenizer.ggml.eos_token_ids"))
                .gap(fill("fim_pre", "prefix"), fill("fim_suf", "suffix"), fill("fim_mid", "middle"))
                .build();
    }

    private @Nullable Object fill(String name, String olderName) {
        Object id = metadata.get("tokenizer.ggml." + name + "_token_id");
        return id != null ? id : metadata.get("tokenizer.ggml." + olderName + "_token_id");
    }

    private String string(String key) {
        if (metadata.get(key) instanceof String text) {
            return text;
        }
        throw new ModelFormatException(source + ": " + key + " is missing or not a string; the file has no tokenizer. "
                + "Convert the model again with its tokenizer.");
    }

    private List<?> list(String key) {
        if (metadata.get(key) instanceof List<?> list) {
            return list;
        }
        throw new ModelFormatException(source + ": " + key + " is missing or not an array.");
    }
}
