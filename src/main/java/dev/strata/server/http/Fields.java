package dev.strata.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads known keys of a JSON object with their types. A missing key and an explicit null are the same; a wrong type is an {@link ApiException} that names the
 * path of the key; unknown keys are never looked at.
 */
public final class Fields {
    private final JsonNode object;
    private final String path;

    private Fields(JsonNode object, String path) {
        this.object = object;
        this.path = path;
    }

    /** The fields of a request body. */
    public static Fields of(JsonNode object) {
        return new Fields(object, "");
    }

    /** The fields of a nested object; {@code path} is its place in the request. */
    public static Fields of(JsonNode object, String path) {
        if (!object.isObject()) {
            throw wrong(path, "an object", object);
        }
        return new Fields(object, path);
    }

    public String path(String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    public JsonNode node() {
        return object;
    }

    public boolean has(String key) {
        return get(key) != null;
    }

    public @Nullable JsonNode get(String key) {
        JsonNode value = object.get(key);
        return value == null || value.isNull() ? null : value;
    }

    public JsonNode require(String key) {
        JsonNode value = get(key);
        if (value == null) {
            throw missing(key);
        }
        return value;
    }

    public @Nullable String string(String key) {
        JsonNode value = get(key);
        if (value == null) {
            return null;
        }
        if (!value.isTextual()) {
            throw wrong(path(key), "a string", value);
        }
        return value.textValue();
    }

    public String string(String key, String otherwise) {
        String value = string(key);
        return value == null ? otherwise : value;
    }

    public String requireString(String key) {
        String value = string(key);
        if (value == null) {
            throw missing(key);
        }
        return value;
    }

    public boolean bool(String key, boolean otherwise) {
        Boolean value = bool(key);
        return value == null ? otherwise : value;
    }

    public @Nullable Boolean bool(String key) {
        JsonNode value = get(key);
        if (value == null) {
            return null;
        }
        if (!value.isBoolean()) {
            throw wrong(path(key), "true or false", value);
        }
        return value.booleanValue();
    }

    /** A whole number; {@code 5.0} counts as 5, because some clients know only floats. */
    public @Nullable Long whole(String key, long min, long max) {
        JsonNode value = get(key);
        if (value == null) {
            return null;
        }
        if (!value.isNumber() || value.doubleValue() != Math.rint(value.doubleValue())) {
            throw wrong(path(key), "a whole number", value);
        }
        if (!(value.canConvertToLong() && value.longValue() >= min && value.longValue() <= max)) {
            throw range(path(key), min, max, value);
        }
        return value.longValue();
    }

    public @Nullable Integer integer(String key, int min, int max) {
        Long value = whole(key, min, max);
        return value == null ? null : value.intValue();
    }

    public int integer(String key, int min, int max, int otherwise) {
        Integer value = integer(key, min, max);
        return value == null ? otherwise : value;
    }

    public @Nullable Float number(String key, double min, double max) {
        JsonNode value = get(key);
        if (value == null) {
            return null;
        }
        if (!value.isNumber()) {
            throw wrong(path(key), "a number", value);
        }
        double number = value.doubleValue();
        if (!(number >= min && number <= max)) {
            throw range(path(key), min, max, value);
        }
        return (float) number;
    }

    public @Nullable Fields object(String key) {
        JsonNode value = get(key);
        return value == null ? null : of(value, path(key));
    }

    /** Elements of an array; empty when the key is absent. */
    public List<JsonNode> list(String key) {
        JsonNode value = get(key);
        if (value == null) {
            return List.of();
        }
        if (!value.isArray()) {
            throw wrong(path(key), "an array", value);
        }
        List<JsonNode> elements = new ArrayList<>(value.size());
        value.forEach(elements::add);
        return elements;
    }

    /** A string, or an array of strings, as a list. */
    public List<String> strings(String key) {
        JsonNode value = get(key);
        if (value == null) {
            return List.of();
        }
        if (value.isTextual()) {
            return List.of(value.textValue());
        }
        if (!value.isArray()) {
            throw wrong(path(key), "a string or an array of strings", value);
        }
        List<String> strings = new ArrayList<>(value.size());
        for (JsonNode element : value) {
            if (!element.isTextual()) {
                throw wrong(path(key) + "[" + strings.size() + "]", "a string", element);
            }
            strings.add(element.textValue());
        }
        return strings;
    }

    public ApiException missing(String key) {
        String at = path(key);
        return new ApiException(new ApiError(
                ApiError.Kind.INVALID_REQUEST, "missing_required_parameter", "'" + at + "' is required", at));
    }

    public ApiException invalid(String key, String message) {
        return new ApiException(ApiError.invalid(path(key), message));
    }

    public static ApiException wrong(String path, String expected, JsonNode value) {
        return new ApiException(new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                "invalid_type",
                "'" + path + "' must be " + expected + ", not " + describe(value),
                path));
    }

    private static ApiException range(String path, Object min, Object max, JsonNode value) {
        return new ApiException(ApiError.invalid(
                path, "'" + path + "' must be from " + min + " to " + max + ", not " + describe(value)));
    }

    private static String describe(JsonNode value) {
        return switch (value.getNodeType()) {
            case ARRAY -> "an array";
            case OBJECT -> "an object";
            case STRING -> "a string";
            case BOOLEAN -> value.asText();
            case NUMBER -> value.asText().length() > 40 ? "a number of that size" : value.asText();
            case NULL, MISSING -> "null";
            case BINARY, POJO -> "that";
        };
    }
}
