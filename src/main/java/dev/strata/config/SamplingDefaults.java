package dev.strata.config;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * How a model wants to be sampled when a request does not say, from {@code generation_config.json} of a Hugging Face folder or the
 * {@code general.sampling.*} keys of a GGUF file. What the model leaves open is plain sampling at temperature 1.
 */
public record SamplingDefaults(
        float temperature,
        int topK,
        float topP,
        float minP,
        float presencePenalty,
        float frequencyPenalty,
        float repetitionPenalty,
        int penaltyWindow) {
    public static final SamplingDefaults PLAIN = new SamplingDefaults(1, 0, 1, 0, 0, 0, 1, -1);

    private static final String FILE = "generation_config.json";
    private static final String PREFIX = "general.sampling.";

    /** The values by the names that requests use. */
    public Map<String, Object> byName() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("temperature", temperature);
        values.put("top_k", topK);
        values.put("top_p", topP);
        values.put("min_p", minP);
        values.put("presence_penalty", presencePenalty);
        values.put("frequency_penalty", frequencyPenalty);
        values.put("repeat_penalty", repetitionPenalty);
        values.put("repeat_last_n", penaltyWindow);
        return values;
    }

    /** Reads what the model's files say. */
    public static SamplingDefaults read(ModelFiles files) {
        Optional<String> json = files.companion(FILE);
        return json.isPresent() ? fromJson(json.get(), files) : fromMetadata(files.metadata());
    }

    static SamplingDefaults fromMetadata(Map<String, Object> metadata) {
        return new SamplingDefaults(
                number(metadata, "temp", PLAIN.temperature),
                Math.max(0, (int) number(metadata, "top_k", PLAIN.topK)),
                number(metadata, "top_p", PLAIN.topP),
                number(metadata, "min_p", PLAIN.minP),
                number(metadata, "penalty_present", PLAIN.presencePenalty),
                number(metadata, "penalty_freq", PLAIN.frequencyPenalty),
                number(metadata, "penalty_repeat", PLAIN.repetitionPenalty),
                (int) number(metadata, "penalty_last_n", PLAIN.penaltyWindow));
    }

    private static SamplingDefaults fromJson(String json, ModelFiles files) {
        JsonNode node;
        try {
            node = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException e) {
            throw new ModelFormatException(
                    files.path().resolve(FILE) + " is not valid JSON: " + e.getOriginalMessage(), e);
        }
        boolean greedy = node.has("do_sample") && !node.get("do_sample").asBoolean(true);
        return new SamplingDefaults(
                greedy ? 0 : number(node, "temperature", PLAIN.temperature),
                Math.max(0, (int) number(node, "top_k", PLAIN.topK)),
                number(node, "top_p", PLAIN.topP),
                number(node, "min_p", PLAIN.minP),
                number(node, "presence_penalty", PLAIN.presencePenalty),
                number(node, "frequency_penalty", PLAIN.frequencyPenalty),
                number(node, "repetition_penalty", PLAIN.repetitionPenalty),
                PLAIN.penaltyWindow);
    }

    private static float number(JsonNode node, String key, float otherwise) {
        JsonNode value = node.get(key);
        return value != null && value.isNumber() ? value.floatValue() : otherwise;
    }

    private static float number(Map<String, Object> metadata, String key, float otherwise) {
        return metadata.get(PREFIX + key) instanceof Number value ? value.floatValue() : otherwise;
    }
}
