package dev.strata.format.convert;

import dev.strata.format.gguf.GgufValue;
import java.nio.file.Path;
import java.util.Map;

/** Metadata of a model that is described by the fields of a config.json alone. */
public final class ShapeMetadata {
    private ShapeMetadata() {}

    /**
     * The keys of a model without draft layers.
     *
     * @param name stands in errors and as the model's name
     * @throws dev.strata.format.ModelFormatException naming the field that is missing
     */
    public static Map<String, GgufValue> of(Path name, Map<String, Object> config) {
        HuggingFaceConfig fields = HuggingFaceConfig.of(name, config);
        return new HuggingFaceMetadata(Family.of(fields), fields, 0).entries();
    }
}
