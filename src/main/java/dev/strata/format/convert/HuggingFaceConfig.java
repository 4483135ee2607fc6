package dev.strata.format.convert;

import dev.strata.format.ModelFormatException;
import dev.strata.format.safetensors.JsonFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The text model's fields of a config.json, wherever they are nested. */
record HuggingFaceConfig(Path folder, Map<String, Object> text, Map<String, Object> rope, Map<String, Object> outer) {
    static HuggingFaceConfig of(Path folder, Map<String, Object> config) {
        Map<String, Object> nested = JsonFile.object(config, "text_config");
        Map<String, Object> text = nested.isEmpty() ? config : nested;
        Map<String, Object> rope = JsonFile.object(text, "rope_parameters");
        return new HuggingFaceConfig(
                folder, text, rope.isEmpty() ? JsonFile.object(text, "rope_scaling") : rope, config);
    }

    /** A whole number, if it is there. */
    Optional<Long> number(String key) {
        Object value = text.getOrDefault(key, outer.get(key));
        return value instanceof Long number ? Optional.of(number) : Optional.empty();
    }

    /** A whole number that has to be there and be positive. */
    int require(String key) {
        long value = number(key).orElseThrow(() -> missing(key));
        if (value <= 0 || value > Integer.MAX_VALUE) {
            throw new ModelFormatException(folder.resolve("config.json") + ": " + key + " is " + value);
        }
        return (int) value;
    }

    /** A number with a fraction, from the field itself or from the rope parameters. */
    Optional<Double> real(String key) {
        Object value = text.getOrDefault(key, rope.get(key));
        return value instanceof Number number ? Optional.of(number.doubleValue()) : Optional.empty();
    }

    double requireReal(String key) {
        return real(key).orElseThrow(() -> missing(key));
    }

    Optional<String> string(String key) {
        return text.getOrDefault(key, outer.get(key)) instanceof String value ? Optional.of(value) : Optional.empty();
    }

    List<Object> list(String key) {
        return JsonFile.list(text, key);
    }

    /** Token ids given as one number or as a list. */
    static List<Long> ids(Map<String, Object> parent, String key) {
        Object value = parent.get(key);
        if (value instanceof Long id) {
            return List.of(id);
        }
        return JsonFile.list(parent, key).stream()
                .filter(Long.class::isInstance)
                .map(Long.class::cast)
                .toList();
    }

    /** Whether each trunk layer has full (or block-sparse) attention, from layer_types or the interval. */
    boolean[] attentionLayers(int layers) {
        boolean[] attention = new boolean[layers];
        List<Object> types = list("layer_types");
        long interval = number("full_attention_interval").orElse(4L);
        for (int i = 0; i < layers; i++) {
            attention[i] = i < types.size() ? !"linear_attention".equals(types.get(i)) : (i + 1) % interval == 0;
        }
        return attention;
    }

    private ModelFormatException missing(String key) {
        return new ModelFormatException(folder.resolve("config.json") + ": lacks " + key);
    }
}
