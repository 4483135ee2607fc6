package dev.strata.format.safetensors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.strata.format.ModelFormatException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON objects of a model folder as maps, lists, strings, booleans, Long and Double, the value types of model metadata. */
public final class JsonFile {
    private static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.USE_LONG_FOR_INTS)
            .build();
    private static final TypeReference<LinkedHashMap<String, Object>> OBJECT = new TypeReference<>() {};

    private JsonFile() {}

    /**
     * Reads a JSON object.
     *
     * @throws ModelFormatException naming the file and the position
     */
    public static Map<String, Object> read(Path path) {
        try {
            return parse(path.toString(), Files.readString(path, StandardCharsets.UTF_8));
        } catch (IOException exception) {
            throw new ModelFormatException(path + ": cannot be read: " + exception.getMessage(), exception);
        }
    }

    /** Parses the text of a JSON object; {@code source} names it in errors. */
    public static Map<String, Object> parse(String source, String text) {
        try {
            @Nullable Map<String, Object> values = MAPPER.readValue(text, OBJECT);
            if (values == null) {
                throw new ModelFormatException(source + ": is null where a JSON object was expected");
            }
            return values;
        } catch (JsonProcessingException exception) {
            String at = exception.getLocation() == null
                    ? ""
                    : " at line " + exception.getLocation().getLineNr() + ", column "
                            + exception.getLocation().getColumnNr();
            throw new ModelFormatException(
                    source + ": not valid JSON" + at + ": " + exception.getOriginalMessage(), exception);
        }
    }

    /** A nested object, or an empty map where the key is absent or something else. */
    public static Map<String, Object> object(Map<String, Object> parent, String key) {
        return asObject(parent.get(key));
    }

    /** A value that is an object, or an empty map where it is something else. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> asObject(@Nullable Object value) {
        return value instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
    }

    /** A nested list, or an empty one where the key is absent or something else. */
    @SuppressWarnings("unchecked")
    public static List<Object> list(Map<String, Object> parent, String key) {
        return parent.get(key) instanceof List<?> list ? (List<Object>) list : List.of();
    }

    /**
     * A string that has to be there.
     *
     * @throws ModelFormatException naming the key
     */
    public static String text(Map<String, Object> parent, String key) {
        if (parent.get(key) instanceof String text) {
            return text;
        }
        throw new ModelFormatException("key " + key + " is not a string: " + parent.get(key));
    }
}
