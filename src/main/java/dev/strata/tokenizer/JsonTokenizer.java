package dev.strata.tokenizer;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFormatException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads {@code tokenizer.json} (Hugging Face tokenizers) with the role tokens of its companion files. */
final class JsonTokenizer {
    private static final int MOST_TOKENS = 1 << 24;
    private static final byte[] NONE = new byte[0];

    private final ObjectMapper mapper = new ObjectMapper();
    private final String source;
    /** Everything but the vocabulary and the merges, which are too many for a tree. */
    private final Map<String, JsonNode> parts = new HashMap<>();

    private final Map<String, JsonNode> modelParts = new HashMap<>();
    /** Bytes of the vocabulary's tokens by id; null where there is none. */
    private byte[] @Nullable [] vocabulary = new byte[1 << 12][];

    private int vocabularySize;
    /** Left and right tokens in turn. */
    private final List<String> merges = new ArrayList<>();

    private JsonTokenizer(String source) {
        this.source = source;
    }

    /**
     * @param json text of tokenizer.json
     * @param companions texts of tokenizer_config.json and generation_config.json where they exist, and config.json
     */
    static Tokenizer read(String json, Companions companions, String source) {
        JsonTokenizer reader = new JsonTokenizer(source);
        try (JsonParser parser = reader.mapper.createParser(json)) {
            reader.parse(parser);
        } catch (IOException error) {
            throw new ModelFormatException(source + " is not valid JSON: " + error.getMessage(), error);
        }
        return reader.build(companions);
    }

    /** Texts of the companion files that name role tokens. */
    record Companions(Optional<String> tokenizerConfig, Optional<String> generationConfig, Map<String, Object> config) {
        static final Companions NONE = new Companions(Optional.empty(), Optional.empty(), Map.of());
    }

    private void parse(JsonParser parser) throws IOException {
        expect(parser.nextToken(), JsonToken.START_OBJECT, "the file");
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            if (parser.nextToken() == JsonToken.START_OBJECT && name.equals("model")) {
                parseModel(parser);
            } else {
                parts.put(name, mapper.readTree(parser));
            }
        }
    }

    private void parseModel(JsonParser parser) throws IOException {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            JsonToken value = parser.nextToken();
            if (name.equals("vocab")) {
                expect(value, JsonToken.START_OBJECT, "model.vocab");
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String token = parser.currentName();
                    addToken(token, parser.nextIntValue(-1));
                }
            } else if (name.equals("merges")) {
                expect(value, JsonToken.START_ARRAY, "model.merges");
                parseMerges(parser);
            } else {
                modelParts.put(name, mapper.readTree(parser));
            }
        }
    }

    private void addToken(String token, int id) {
        if (id < 0 || id > MOST_TOKENS) {
            throw new ModelFormatException(source + ": model.vocab gives \"" + token + "\" no usable id.");
        }
        if (id >= vocabulary.length) {
            vocabulary = Arrays.copyOf(vocabulary, Math.max(id + 1, vocabulary.length * 2));
        }
        vocabulary[id] = ByteLevel.decode(token);
        vocabularySize = Math.max(vocabularySize, id + 1);
    }

    /** Merges are "left right", or in newer files pairs of strings. */
    private void parseMerges(JsonParser parser) throws IOException {
        for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
            if (next == JsonToken.START_ARRAY) {
                String left = parser.nextTextValue();
                String right = parser.nextTextValue();
                expect(parser.nextToken(), JsonToken.END_ARRAY, "model.merges[" + merges.size() / 2 + "]");
                if (left == null || right == null) {
                    throw new ModelFormatException(
                            source + ": model.merges[" + merges.size() / 2 + "] should hold two strings.");
                }
                merges.add(left);
                merges.add(right);
            } else {
                expect(next, JsonToken.VALUE_STRING, "model.merges[" + merges.size() / 2 + "]");
                String merge = parser.getText();
                int space = merge.indexOf(' ', 1);
                if (space < 0) {
                    throw new ModelFormatException(source + ": model.merges[" + merges.size() / 2 + "] (\"" + merge
                            + "\") has no space between its two tokens.");
                }
                merges.add(merge.substring(0, space));
                merges.add(merge.substring(space + 1));
            }
        }
    }

    private void expect(@Nullable JsonToken found, JsonToken wanted, String where) {
        if (found != wanted) {
            throw new ModelFormatException(source + ": " + where + " should be " + wanted + " but is " + found + ".");
        }
    }

    private Tokenizer build(Companions companions) {
        JsonNode type = modelParts.get("type");
        if (type != null && !type.asText().equals("BPE")
                || modelParts.getOrDefault("byte_fallback", mapper.nullNode()).asBoolean()) {
            throw new ModelFormatException(source + ": model.type is " + (type == null ? "missing" : type)
                    + ". Only byte-level BPE is supported.");
        }
        List<AddedTokens.Added> added = added();
        if (vocabularySize == 0) {
            throw new ModelFormatException(source + ": model.vocab is empty.");
        }
        byte[][] tokens = new byte[vocabularySize][];
        for (int id = 0; id < vocabularySize; id++) {
            byte[] bytes = vocabulary[id];
            tokens[id] = bytes == null ? NONE : bytes;
        }
        for (AddedTokens.Added token : added) {
            if (token.id() >= 0 && token.id() < vocabularySize) {
                tokens[token.id()] = NONE;
            }
        }
        TokenTable table = new TokenTable(tokens);
        MergeReader reader = new MergeReader(table, source);
        for (int index = 0; index < merges.size(); index += 2) {
            reader.add(merges.get(index), merges.get(index + 1));
        }
        return BpeTokenizer.of(new BpeModel(
                table,
                reader.merges(),
                added,
                new JsonPreTokenizer(source).read(parts.getOrDefault("pre_tokenizer", mapper.nullNode())),
                normalized(parts.getOrDefault("normalizer", mapper.nullNode())),
                modelParts.getOrDefault("ignore_merges", mapper.nullNode()).asBoolean(),
                roles(added, companions),
                source));
    }

    private List<AddedTokens.Added> added() {
        List<AddedTokens.Added> added = new ArrayList<>();
        for (JsonNode token : parts.getOrDefault("added_tokens", mapper.createArrayNode())) {
            String text = token.path("content").asText();
            added.add(new AddedTokens.Added(
                    token.path("id").asInt(-1),
                    text,
                    Roles.isControl(text, token.path("special").asBoolean()),
                    token.path("lstrip").asBoolean(),
                    token.path("rstrip").asBoolean(),
                    token.path("single_word").asBoolean()));
        }
        return added;
    }

    private boolean normalized(JsonNode normalizer) {
        String type = normalizer.path("type").asText("");
        if (type.equals("Sequence")) {
            boolean any = false;
            for (JsonNode part : normalizer.path("normalizers")) {
                any |= normalized(part);
            }
            return any;
        }
        if (!normalizer.isNull() && !type.equals("NFC")) {
            throw new ModelFormatException(
                    source + ": normalizer \"" + type + "\" is not supported. Supported are NFC and none.");
        }
        return type.equals("NFC");
    }

    private SpecialTokens roles(List<AddedTokens.Added> added, Companions companions) {
        JsonNode tokenizerConfig = tree(companions.tokenizerConfig, "tokenizer_config.json");
        JsonNode generationConfig = tree(companions.generationConfig, "generation_config.json");
        @Nullable String template = templateBegin(parts.getOrDefault("post_processor", mapper.nullNode()));
        boolean addBegin = tokenizerConfig.path("add_bos_token").asBoolean(template != null);
        return new Roles(added)
                .begin(template)
                .begin(plain(tokenizerConfig.path("bos_token")))
                .begin(plain(generationConfig.path("bos_token_id")))
                .addBegin(addBegin)
                .end(plain(tokenizerConfig.path("eos_token")))
                .end(plain(generationConfig.path("eos_token_id")))
                .end(companions.config.get("eos_token_id"))
                .build();
    }

    /** The special token that a TemplateProcessing step puts in front. */
    private static @Nullable String templateBegin(JsonNode processor) {
        for (JsonNode part : processor.path("processors")) {
            String found = templateBegin(part);
            if (found != null) {
                return found;
            }
        }
        JsonNode first = processor.path("single").path(0).path("SpecialToken").path("id");
        return first.isTextual() ? first.asText() : null;
    }

    private static @Nullable Object plain(JsonNode node) {
        if (node.isArray()) {
            List<Object> list = new ArrayList<>();
            for (JsonNode element : node) {
                Object value = plain(element);
                if (value != null) {
                    list.add(value);
                }
            }
            return list;
        }
        if (node.isObject()) {
            return node.path("content").asText();
        }
        return node.isNumber() ? Integer.valueOf(node.asInt()) : node.isTextual() ? node.asText() : null;
    }

    private JsonNode tree(Optional<String> text, String name) {
        try {
            return text.isPresent() ? mapper.readTree(text.get()) : mapper.createObjectNode();
        } catch (JsonProcessingException error) {
            throw new ModelFormatException(
                    name + " beside " + source + " is not valid JSON: " + error.getOriginalMessage(), error);
        }
    }
}
