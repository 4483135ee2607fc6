package dev.strata.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON in and out: bytes to trees, ordered maps to bytes. */
public final class Json {
    private static final int MAX_DEPTH = 200;

    private static final ObjectMapper MAPPER = new ObjectMapper(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNestingDepth(MAX_DEPTH)
                            .maxStringLength(Integer.MAX_VALUE)
                            .maxNumberLength(100)
                            .build())
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .registerModule(new SimpleModule().addSerializer(String.class, new WholeCharacters()));

    private Json() {}

    /** An object in the order given: name, value, name, value. */
    public static Map<String, @Nullable Object> object(@Nullable Object... namesAndValues) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            object.put(String.valueOf(namesAndValues[i]), namesAndValues[i + 1]);
        }
        return object;
    }

    public static byte[] bytes(Object value) {
        try {
            return MAPPER.writeValueAsBytes(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static String text(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Parses a request body; anything but one JSON object is a 400. */
    public static JsonNode request(byte[] body) {
        try {
            JsonNode node = MAPPER.readTree(body);
            if (node == null || !node.isObject()) {
                throw malformed("The request body must be a JSON object");
            }
            return node;
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            String where = at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
            throw malformed("The request body is not valid JSON" + where + ": " + e.getOriginalMessage());
        } catch (IOException e) {
            throw malformed("The request body is not valid JSON: " + e.getMessage());
        }
    }

    /** Parses text of a client that may be no JSON at all; missing node then. */
    public static JsonNode lenient(String text) {
        try {
            JsonNode node = MAPPER.readTree(text);
            return node == null ? MissingNode.getInstance() : node;
        } catch (JsonProcessingException e) {
            return MissingNode.getInstance();
        }
    }

    /** Plain Java values (maps, lists, strings, numbers, booleans, null) of a tree. */
    public static @Nullable Object plain(JsonNode node) {
        return MAPPER.convertValue(node, Object.class);
    }

    /** Half a surrogate pair has no UTF-8 form: a client may send one as an escape, and it comes back as U+FFFD. */
    private static final class WholeCharacters extends JsonSerializer<String> {
        @Override
        public void serialize(String value, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeString(WellFormed.text(value));
        }
    }

    private static ApiException malformed(String message) {
        return new ApiException(new ApiError(ApiError.Kind.INVALID_REQUEST, "invalid_json", message, null));
    }
}
