package dev.strata.synth;

import dev.strata.format.safetensors.JsonFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The sizes of a published model: the text fields of its config.json, from the project's folder {@code models}. */
public record SynthShape(String name, String published, Map<String, Object> config) {
    /** The shapes that are described. */
    public static final List<String> NAMES =
            List.of("qwen3-30b-a3b", "qwen3-next-80b", "qwen3.6-35b-a3b", "qwen3.8-flash-next");

    /**
     * Reads a description.
     *
     * @throws IllegalArgumentException naming the shapes that there are
     */
    public static SynthShape load(String name) {
        if (!NAMES.contains(name)) {
            throw new IllegalArgumentException(
                    "shape " + name + " is unknown; possible are " + String.join(", ", NAMES));
        }
        try (InputStream stream = SynthShape.class.getResourceAsStream(name + ".json")) {
            if (stream == null) {
                throw new IllegalStateException("resource " + name + ".json is missing from the build");
            }
            Map<String, Object> described =
                    JsonFile.parse(name + ".json", new String(stream.readAllBytes(), StandardCharsets.UTF_8));
            return new SynthShape(name, JsonFile.text(described, "published"), JsonFile.object(described, "config"));
        } catch (IOException exception) {
            throw new UncheckedIOException(exception);
        }
    }

    /** The same with fewer layers, or more. */
    SynthShape withLayers(int layers) {
        Map<String, Object> changed = new LinkedHashMap<>(config);
        changed.put("num_hidden_layers", (long) layers);
        return new SynthShape(name, published, changed);
    }

    String modelType() {
        return JsonFile.text(config, "model_type");
    }

    boolean has(String key) {
        return config.containsKey(key);
    }

    int size(String key) {
        if (config.get(key) instanceof Long value && value > 0 && value <= Integer.MAX_VALUE) {
            return (int) (long) value;
        }
        throw new IllegalArgumentException(name + ": " + key + " is " + config.get(key));
    }
}
