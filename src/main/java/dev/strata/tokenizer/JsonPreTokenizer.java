package dev.strata.tokenizer;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.format.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** The {@code pre_tokenizer} part of tokenizer.json: splits by expressions, then bytes. */
final class JsonPreTokenizer {
    private final String source;
    private final List<String> expressions = new ArrayList<>();
    private boolean bytes;

    JsonPreTokenizer(String source) {
        this.source = source;
    }

    PreTokenizer read(JsonNode node) {
        step(node);
        if (!bytes) {
            throw wrong("has no ByteLevel step");
        }
        if (expressions.isEmpty()) {
            throw wrong("has no expression to split by");
        }
        try {
            return PreTokenizers.of(expressions);
        } catch (PatternSyntaxException error) {
            throw wrong("has an expression that cannot be compiled: " + error.getMessage());
        }
    }

    private void step(JsonNode node) {
        switch (node.path("type").asText("none")) {
            case "Sequence" -> node.path("pretokenizers").forEach(this::step);
            case "Split" -> split(node);
            case "Digits" -> expressions.add(node.path("individual_digits").asBoolean() ? "\\p{N}" : "\\p{N}+");
            case "ByteLevel" -> {
                bytes = true;
                if (node.path("add_prefix_space").asBoolean()) {
                    throw wrong("adds a space in front (add_prefix_space)");
                }
                if (node.path("use_regex").asBoolean(true)) {
                    expressions.add(PreTokenizers.GPT2);
                }
            }
            default -> throw wrong("has a step \"" + node.path("type").asText("none") + "\"");
        }
    }

    /** Isolated pieces, or the matches alone (Removed and inverted): with expressions that match everything they are the same. */
    private void split(JsonNode node) {
        String behavior = node.path("behavior").asText();
        boolean inverted = node.path("invert").asBoolean();
        if (!(behavior.equals("Isolated") && !inverted || behavior.equals("Removed") && inverted)) {
            throw wrong("splits with behavior " + behavior + (inverted ? " (inverted)" : ""));
        }
        JsonNode pattern = node.path("pattern");
        expressions.add(
                pattern.has("Regex")
                        ? pattern.path("Regex").asText()
                        : Pattern.quote(pattern.path("String").asText()));
    }

    private ModelFormatException wrong(String what) {
        return new ModelFormatException(source + ": pre_tokenizer " + what
                + ". Supported are Split (isolated), Digits and ByteLevel without a prefix space, in sequence.");
    }
}
