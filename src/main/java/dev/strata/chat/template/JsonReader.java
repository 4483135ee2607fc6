package dev.strata.chat.template;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/** JSON text to template values. */
final class JsonReader {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private JsonReader() {}

    static Object read(String json) {
        try {
            return Values.of(MAPPER.readValue(json, Object.class));
        } catch (JsonProcessingException error) {
            throw new TemplateException("from_json: " + error.getOriginalMessage());
        }
    }
}
