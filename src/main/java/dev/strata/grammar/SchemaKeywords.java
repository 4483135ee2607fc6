package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** What a schema says at its top level, and what it must not say. */
final class SchemaKeywords {
    private static final Set<String> UNSUPPORTED = Set.of(
            "not",
            "if",
            "then",
            "else",
            "patternProperties",
            "propertyNames",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
            "unevaluatedItems",
            "contains",
            "minContains",
            "maxContains",
            "multipleOf",
            "$dynamicRef",
            "$recursiveRef");
    private static final Set<String> TYPES =
            Set.of("object", "array", "string", "number", "integer", "boolean", "null");

    private SchemaKeywords() {}

    /** @throws GrammarException naming a keyword that cannot be followed */
    static void check(JsonNode schema) {
        schema.fieldNames().forEachRemaining(name -> {
            if (UNSUPPORTED.contains(name)) {
                throw new GrammarException("\"" + name + "\" is not supported in schemas that constrain the answer");
            }
        });
        for (String name : List.of("prefixItems", "enum", "anyOf", "oneOf")) {
            shape(schema, name, "a list", JsonNode::isArray);
        }
        shape(schema, "properties", "an object", JsonNode::isObject);
        shape(schema, "pattern", "a regular expression", value -> value.isTextual() || value.isArray());
        for (String name : List.of("minimum", "maximum")) {
            shape(schema, name, "a number", JsonNode::isNumber);
        }
        for (String name : List.of("exclusiveMinimum", "exclusiveMaximum")) {
            shape(schema, name, "a number", value -> value.isNumber() || value.isBoolean());
        }
        if (schema.path("uniqueItems").asBoolean()) {
            throw new GrammarException("\"uniqueItems\" is not supported in schemas that constrain the answer");
        }
        if (schema.path("minProperties").asInt() > schema.path("required").size()) {
            throw new GrammarException("\"minProperties\" beyond the required properties is not supported");
        }
    }

    private static void shape(JsonNode schema, String keyword, String wanted, Predicate<JsonNode> fits) {
        JsonNode value = schema.get(keyword);
        if (value != null && !fits.test(value)) {
            throw new GrammarException("\"" + keyword + "\" should be " + wanted + ", but is " + value);
        }
    }

    /** Whether nothing can satisfy the schema. */
    static boolean isFalse(JsonNode schema) {
        return schema.isBoolean() && !schema.asBoolean();
    }

    /** The types a value may have; all where nothing narrows them. */
    static Set<String> types(JsonNode schema) {
        Set<String> types = new LinkedHashSet<>(SchemaMerge.names(schema.path("type")));
        for (String type : types) {
            if (!TYPES.contains(type)) {
                throw new GrammarException("\"type\": \"" + type + "\" is no type of JSON");
            }
        }
        if (types.isEmpty()) {
            infer(schema, types);
        }
        if (schema.path("nullable").asBoolean()) {
            types.add("null");
        }
        if (types.contains("number")) {
            types.remove("integer");
        }
        return types;
    }

    /** A schema without a type that speaks of one is taken to mean it. */
    private static void infer(JsonNode schema, Set<String> types) {
        if (schema.has("properties") || schema.has("required") || schema.has("additionalProperties")) {
            types.add("object");
        } else if (schema.has("items")
                || schema.has("prefixItems")
                || schema.has("minItems")
                || schema.has("maxItems")) {
            types.add("array");
        } else if (schema.has("pattern")
                || schema.has("minLength")
                || schema.has("maxLength")
                || schema.has("format")) {
            types.add("string");
        } else if (schema.has("minimum")
                || schema.has("maximum")
                || schema.has("exclusiveMinimum")
                || schema.has("exclusiveMaximum")) {
            types.add("number");
        }
    }

    static int count(JsonNode schema, String keyword, int fallback) {
        JsonNode value = schema.get(keyword);
        if (value == null) {
            return fallback;
        }
        if (!value.isNumber() || value.asDouble() < 0 || value.asDouble() > Integer.MAX_VALUE) {
            throw new GrammarException("\"" + keyword + "\" should be a number from 0 on");
        }
        return value.asInt();
    }
}
