package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.SamplingOptions;
import dev.strata.server.http.Fields;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The sampling fields that chat completions and completions share, with the names that llama.cpp and vLLM clients use for the same things. */
final class SamplingReader {
    private static final int MAX_BIAS = 100;
    private static final int MAX_COUNT = 1 << 20;

    private SamplingReader() {}

    static SamplingOptions read(Fields fields) {
        return new SamplingOptions(
                fields.number("temperature", 0, 100),
                topK(fields),
                fields.number("top_p", 0, 1),
                fields.number("min_p", 0, 1),
                fields.number("presence_penalty", -2, 2),
                fields.number("frequency_penalty", -2, 2),
                repetition(fields),
                window(fields),
                seed(fields),
                bias(fields));
    }

    /** 0 and -1 both switch top-k off, depending on whom one asks. */
    private static @Nullable Integer topK(Fields fields) {
        Integer value = fields.integer("top_k", -1, MAX_COUNT);
        return value == null ? null : Math.max(0, value);
    }

    private static @Nullable Float repetition(Fields fields) {
        Float value = fields.number("repetition_penalty", 0.01, 100);
        return value == null ? fields.number("repeat_penalty", 0.01, 100) : value;
    }

    /** -1 means the whole context. */
    private static @Nullable Integer window(Fields fields) {
        Integer value = fields.integer("penalty_last_n", -1, MAX_COUNT);
        return value == null ? fields.integer("repeat_last_n", -1, MAX_COUNT) : value;
    }

    /** -1 asks for a random seed, like none at all. */
    private static @Nullable Long seed(Fields fields) {
        Long value = fields.whole("seed", Long.MIN_VALUE, Long.MAX_VALUE);
        return value != null && value == -1 ? null : value;
    }

    /** {@code {"token id": bias}} or {@code [[token id, bias]]}; a bias of false forbids the token. */
    private static Map<Integer, Float> bias(Fields fields) {
        JsonNode node = fields.get("logit_bias");
        if (node == null) {
            return Map.of();
        }
        Map<Integer, Float> bias = new HashMap<>();
        if (node.isObject()) {
            node.properties()
                    .forEach(entry -> bias.put(token(fields, entry.getKey()), value(fields, entry.getValue())));
        } else if (node.isArray()) {
            for (JsonNode pair : node) {
                if (!pair.isArray() || pair.size() != 2) {
                    throw Fields.wrong("logit_bias", "an object or pairs of token id and bias", pair);
                }
                bias.put(token(fields, pair.get(0).asText()), value(fields, pair.get(1)));
            }
        } else {
            throw Fields.wrong(fields.path("logit_bias"), "an object", node);
        }
        return bias;
    }

    private static int token(Fields fields, String text) {
        try {
            return Integer.parseUnsignedInt(text);
        } catch (NumberFormatException e) {
            throw fields.invalid(
                    "logit_bias", "'logit_bias' must be keyed by token ids, which '" + shortened(text) + "' is not");
        }
    }

    private static float value(Fields fields, JsonNode node) {
        if (node.isBoolean() && !node.booleanValue()) {
            return Float.NEGATIVE_INFINITY;
        }
        if (!node.isNumber() || Math.abs(node.doubleValue()) > MAX_BIAS) {
            throw fields.invalid("logit_bias", "A logit bias must be a number from -100 to 100");
        }
        return node.floatValue();
    }

    private static String shortened(String text) {
        return text.length() > 40 ? text.substring(0, 40) + "..." : text;
    }
}
