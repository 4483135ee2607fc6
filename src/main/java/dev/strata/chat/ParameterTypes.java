package dev.strata.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Tool;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Which JSON types the parameters of the tools take, for a dialect that writes values as bare text. */
final class ParameterTypes {
    private static final ObjectMapper MAPPER =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final int DEEPEST = 8;

    private final Map<String, Map<String, Set<String>>> functions = new HashMap<>();

    ParameterTypes(List<Tool> tools) {
        for (Tool tool : tools) {
            functions.put(tool.name(), parameters(tool));
        }
    }

    private static Map<String, Set<String>> parameters(Tool tool) {
        Map<String, Set<String>> parameters = new HashMap<>();
        try {
            JsonNode schema = MAPPER.readTree(tool.parametersSchema());
            schema.path("properties").properties().forEach(property -> {
                Set<String> types = new HashSet<>();
                collect(property.getValue(), schema, types, 0);
                parameters.put(property.getKey(), types);
            });
        } catch (JsonProcessingException error) {
            // The server has refused schemas that are not JSON; without one, every value is text.
            return parameters;
        }
        return parameters;
    }

    private static void collect(JsonNode schema, JsonNode root, Set<String> types, int depth) {
        if (depth > DEEPEST) {
            return;
        }
        JsonNode type = schema.path("type");
        if (type.isTextual()) {
            types.add(type.asText());
        }
        type.forEach(one -> types.add(one.asText()));
        if (schema.path("nullable").asBoolean()) {
            types.add("null");
        }
        schema.path("enum").forEach(value -> types.add(typeOf(value)));
        if (schema.has("const")) {
            types.add(typeOf(schema.get("const")));
        }
        for (String keyword : List.of("anyOf", "oneOf", "allOf")) {
            schema.path(keyword).forEach(option -> collect(option, root, types, depth + 1));
        }
        String reference = schema.path("$ref").asText("");
        if (reference.startsWith("#/")) {
            collect(root.at(reference.substring(1)), root, types, depth + 1);
        }
    }

    private static String typeOf(JsonNode value) {
        return switch (value.getNodeType()) {
            case STRING -> "string";
            case NUMBER -> value.isIntegralNumber() ? "integer" : "number";
            case BOOLEAN -> "boolean";
            case NULL -> "null";
            case ARRAY -> "array";
            default -> "object";
        };
    }

    boolean knows(String function) {
        return functions.containsKey(function);
    }

    /** Whether a value of the parameter is text whatever it looks like. Parameters without a schema are. */
    boolean isText(String function, String parameter) {
        Set<String> types = functions.getOrDefault(function, Map.of()).get(parameter);
        return types == null || types.equals(Set.of("string"));
    }

    /** The value as JSON: itself where it is JSON of a type that the parameter takes, else a string. */
    String json(String function, String parameter, String value) {
        Set<String> types = functions.getOrDefault(function, Map.of()).getOrDefault(parameter, Set.of());
        String text = value.strip();
        try {
            JsonNode node = MAPPER.readTree(text);
            if (!node.isMissingNode()) {
                String type = typeOf(node);
                boolean taken = types.isEmpty()
                        || types.contains(type)
                        || type.equals("integer") && types.contains("number")
                        || !types.contains("string");
                if (taken && !node.isTextual()) {
                    return text;
                }
            }
        } catch (JsonProcessingException error) {
            return word(text, types, value);
        }
        return JsonStrings.quoted(value);
    }

    /** Models write Python's words too. */
    private static String word(String text, Set<String> types, String value) {
        if (types.contains("boolean") && (text.equals("True") || text.equals("False"))) {
            return text.equals("True") ? "true" : "false";
        }
        return types.contains("null") && text.equals("None") ? "null" : JsonStrings.quoted(value);
    }
}
