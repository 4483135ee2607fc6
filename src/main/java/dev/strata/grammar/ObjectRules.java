package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Objects of JSON: the properties in the schema's order, then others where they are allowed. */
final class ObjectRules {
    private final GrammarBuilder builder;
    private final JsonRules rules;
    private final SchemaCompiler schemas;

    ObjectRules(GrammarBuilder builder, JsonRules rules, SchemaCompiler schemas) {
        this.builder = builder;
        this.rules = rules;
        this.schemas = schemas;
    }

    int append(int from, JsonNode schema) {
        JsonNode properties = schema.path("properties");
        Set<String> required = new HashSet<>();
        schema.path("required").forEach(name -> required.add(name.asText()));
        JsonNode others = others(schema, properties);
        List<String> names = new ArrayList<>();
        properties.fieldNames().forEachRemaining(names::add);
        for (String name : required) {
            if (!properties.has(name)) {
                throw new GrammarException("\"required\" names \"" + name + "\", which is not among the properties");
            }
        }
        if (names.isEmpty() && others.isBoolean() && others.asBoolean()) {
            return rules.object(from);
        }
        // Two ways run side by side: "empty" as long as there was no property, "filled" behind one.
        int empty = builder.literal(from, "{");
        int filled = builder.node();
        for (String name : names) {
            JsonNode property = properties.get(name);
            if (property.isBoolean() && !property.asBoolean()) {
                continue;
            }
            int key = builder.node();
            builder.empty(rules.space(empty), key);
            builder.empty(rules.space(builder.literal(filled, ",")), key);
            int colon = builder.literal(key, quoted(name) + ":");
            int nextFilled = builder.node();
            builder.empty(schemas.value(rules.blank(colon), property), nextFilled);
            int nextEmpty = builder.node();
            if (!required.contains(name)) {
                builder.empty(empty, nextEmpty);
                builder.empty(filled, nextFilled);
            }
            empty = nextEmpty;
            filled = nextFilled;
        }
        if (!(others.isBoolean() && !others.asBoolean())) {
            filled = additional(empty, filled, names, others);
        }
        int close = builder.node();
        builder.empty(empty, close);
        builder.empty(rules.space(filled), close);
        return builder.literal(close, "}");
    }

    /** What the schema says of further properties. Silence allows them; here only where nothing else describes the object. */
    private static JsonNode others(JsonNode schema, JsonNode properties) {
        JsonNode others = schema.path("additionalProperties");
        if (others.isMissingNode()) {
            others = schema.path("unevaluatedProperties");
        }
        return others.isMissingNode()
                ? com.fasterxml.jackson.databind.node.BooleanNode.valueOf(!schema.has("properties"))
                : others;
    }

    private int additional(int empty, int filled, List<String> names, JsonNode schema) {
        int more = builder.node();
        builder.empty(filled, more);
        int key = builder.node();
        builder.empty(rules.space(empty), key);
        builder.empty(rules.space(builder.literal(more, ",")), key);
        int colon = builder.literal(StringRules.quoted(builder, key, TextAutomaton.except(names), false), ":");
        builder.empty(schemas.value(rules.blank(colon), schema), more);
        return more;
    }

    static String quoted(String name) {
        return com.fasterxml.jackson.databind.node.TextNode.valueOf(name).toString();
    }
}
