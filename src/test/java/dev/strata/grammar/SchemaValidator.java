package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.regex.Pattern;

/** Checks values against JSON schemas, independently of the compiler: the oracle of the random tests. */
final class SchemaValidator {
    private final JsonNode root;

    SchemaValidator(JsonNode root) {
        this.root = root;
    }

    boolean isValid(JsonNode value) {
        return isValid(root, value);
    }

    private boolean isValid(JsonNode schema, JsonNode value) {
        if (schema.isBoolean()) {
            return schema.asBoolean();
        }
        if (schema.path("nullable").asBoolean() && value.isNull()) {
            return true;
        }
        return references(schema, value)
                && type(schema, value)
                && fixed(schema, value)
                && number(schema, value)
                && string(schema, value)
                && array(schema, value)
                && object(schema, value);
    }

    private boolean references(JsonNode schema, JsonNode value) {
        if (schema.has("$ref") && !isValid(root.at(schema.get("$ref").asText().substring(1)), value)) {
            return false;
        }
        for (JsonNode part : schema.path("allOf")) {
            if (!isValid(part, value)) {
                return false;
            }
        }
        for (String keyword : new String[] {"anyOf", "oneOf"}) {
            boolean any = !schema.has(keyword);
            for (JsonNode option : schema.path(keyword)) {
                any |= isValid(option, value);
            }
            if (!any) {
                return false;
            }
        }
        return true;
    }

    private static boolean type(JsonNode schema, JsonNode value) {
        JsonNode type = schema.path("type");
        if (type.isArray()) {
            for (JsonNode one : type) {
                if (is(one.asText(), value)) {
                    return true;
                }
            }
            return false;
        }
        return type.isMissingNode() || is(type.asText(), value);
    }

    private static boolean is(String type, JsonNode value) {
        return switch (type) {
            case "object" -> value.isObject();
            case "array" -> value.isArray();
            case "string" -> value.isTextual();
            case "number" -> value.isNumber();
            case "integer" ->
                value.isNumber() && value.decimalValue().stripTrailingZeros().scale() <= 0;
            case "boolean" -> value.isBoolean();
            case "null" -> value.isNull();
            default -> throw new IllegalArgumentException(type);
        };
    }

    private static boolean fixed(JsonNode schema, JsonNode value) {
        if (schema.has("const") && !schema.get("const").equals(value)) {
            return false;
        }
        boolean listed = !schema.has("enum");
        for (JsonNode one : schema.path("enum")) {
            listed |= one.equals(value);
        }
        return listed;
    }

    private static boolean number(JsonNode schema, JsonNode value) {
        if (!value.isNumber()) {
            return true;
        }
        BigDecimal number = value.decimalValue();
        return (!schema.has("minimum") || number.compareTo(schema.get("minimum").decimalValue()) >= 0)
                && (!schema.has("maximum")
                        || number.compareTo(schema.get("maximum").decimalValue()) <= 0)
                && (!schema.has("exclusiveMinimum")
                        || number.compareTo(schema.get("exclusiveMinimum").decimalValue()) > 0)
                && (!schema.has("exclusiveMaximum")
                        || number.compareTo(schema.get("exclusiveMaximum").decimalValue()) < 0);
    }

    private static boolean string(JsonNode schema, JsonNode value) {
        if (!value.isTextual()) {
            return true;
        }
        String text = value.asText();
        int length = text.codePointCount(0, text.length());
        return length >= schema.path("minLength").asInt(0)
                && length <= schema.path("maxLength").asInt(Integer.MAX_VALUE)
                && (!schema.has("pattern")
                        || Pattern.compile(schema.get("pattern").asText())
                                .matcher(text)
                                .find())
                && (!schema.has("format") || format(schema.get("format").asText(), text));
    }

    private static boolean format(String format, String text) {
        try {
            switch (format) {
                case "date" -> LocalDate.parse(text);
                case "date-time" -> OffsetDateTime.parse(text, DateTimeFormatter.ISO_OFFSET_DATE_TIME);
                case "uuid" -> java.util.UUID.fromString(text);
                case "ipv4" -> {
                    String[] parts = text.split("\\.", -1);
                    for (String part : parts) {
                        if (part.length() > 3
                                || Integer.parseInt(part) > 255
                                || part.length() > 1 && part.startsWith("0")) {
                            return false;
                        }
                    }
                    return parts.length == 4;
                }
                default -> throw new IllegalStateException(format);
            }
            return true;
        } catch (java.time.DateTimeException | IllegalArgumentException error) {
            // Offsets beyond 18 hours are valid in RFC 3339 but not in java.time.
            return format.equals("date-time") && text.matches(".*[+-](19|2[0-3]):[0-5][0-9]|.*[+-]18:.*");
        }
    }

    private boolean array(JsonNode schema, JsonNode value) {
        if (!value.isArray()) {
            return true;
        }
        if (value.size() < schema.path("minItems").asInt(0)
                || value.size() > schema.path("maxItems").asInt(Integer.MAX_VALUE)) {
            return false;
        }
        JsonNode first = schema.path("prefixItems");
        for (int index = 0; index < value.size(); index++) {
            JsonNode item = index < first.size() ? first.get(index) : schema.path("items");
            if (!item.isMissingNode() && !isValid(item, value.get(index))) {
                return false;
            }
        }
        return true;
    }

    private boolean object(JsonNode schema, JsonNode value) {
        if (!value.isObject()) {
            return true;
        }
        for (JsonNode name : schema.path("required")) {
            if (!value.has(name.asText())) {
                return false;
            }
        }
        for (var entry : value.properties()) {
            JsonNode property = schema.path("properties").path(entry.getKey());
            JsonNode rule = property.isMissingNode() ? schema.path("additionalProperties") : property;
            if (!rule.isMissingNode() && !isValid(rule, entry.getValue())) {
                return false;
            }
        }
        return true;
    }
}
