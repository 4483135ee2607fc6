package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Puts schemas that have to hold together into one. */
final class SchemaMerge {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final int MOST_OPTIONS = 128;
    private static final Set<String> LARGER =
            Set.of("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties");
    private static final Set<String> SMALLER =
            Set.of("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties");

    private SchemaMerge() {}

    static JsonNode merge(JsonNode first, JsonNode second) {
        if (first.isBoolean()) {
            return first.asBoolean() ? second : first;
        }
        if (second.isBoolean()) {
            return second.asBoolean() ? first : second;
        }
        ObjectNode merged = object("a schema", first);
        for (Map.Entry<String, JsonNode> entry : object("a schema", second).properties()) {
            JsonNode before = merged.get(entry.getKey());
            merged.set(
                    entry.getKey(),
                    before == null ? entry.getValue() : keyword(entry.getKey(), before, entry.getValue()));
        }
        return merged;
    }

    private static ObjectNode object(String what, JsonNode node) {
        if (!node.isObject()) {
            throw new GrammarException(what + " has to be an object, not " + node);
        }
        return copy(node);
    }

    /** A copy whose keywords can be changed; what they hold is shared and never changed. */
    static ObjectNode copy(JsonNode object) {
        ObjectNode copy = NODES.objectNode();
        object.properties().forEach(entry -> copy.set(entry.getKey(), entry.getValue()));
        return copy;
    }

    private static JsonNode keyword(String name, JsonNode first, JsonNode second) {
        if (LARGER.contains(name) || SMALLER.contains(name)) {
            if (!first.isNumber() || !second.isNumber() || !Double.isFinite(second.doubleValue())) {
                return second;
            }
            if (!Double.isFinite(first.doubleValue())) {
                return first;
            }
            BigDecimal one = first.decimalValue();
            BigDecimal two = second.decimalValue();
            return NODES.numberNode(LARGER.contains(name) ? one.max(two) : one.min(two));
        }
        return switch (name) {
            case "type" -> types(first, second);
            case "required", "pattern" -> union(first, second);
            case "enum" -> common(first, second);
            case "properties" -> properties(first, second);
            case "items", "additionalProperties" -> merge(first, second);
            case "anyOf", "oneOf" -> options(first, second);
            case "allOf" -> union(first, second);
            case "const" -> {
                if (!first.equals(second)) {
                    throw new GrammarException("\"const\": " + first + " and " + second + " cannot both hold");
                }
                yield first;
            }
            default -> second;
        };
    }

    private static JsonNode types(JsonNode first, JsonNode second) {
        Set<String> one = names(first);
        Set<String> two = names(second);
        ArrayNode both = NODES.arrayNode();
        for (String type : one) {
            if (two.contains(type) || type.equals("integer") && two.contains("number")) {
                both.add(type);
            } else if (type.equals("number") && two.contains("integer")) {
                both.add("integer");
            }
        }
        if (both.isEmpty()) {
            throw new GrammarException("\"type\": " + first + " and " + second + " cannot both hold");
        }
        return both;
    }

    static Set<String> names(JsonNode node) {
        Set<String> names = new java.util.LinkedHashSet<>();
        if (node.isTextual()) {
            names.add(node.asText());
        }
        if (node.isArray()) {
            node.forEach(element -> names.add(element.asText()));
        }
        return names;
    }

    private static ArrayNode union(JsonNode first, JsonNode second) {
        ArrayNode all = NODES.arrayNode();
        Set<JsonNode> seen = new HashSet<>();
        for (JsonNode list : new JsonNode[] {first, second}) {
            for (JsonNode element : list.isArray() ? list : NODES.arrayNode().add(list)) {
                if (seen.add(element)) {
                    all.add(element);
                }
            }
        }
        return all;
    }

    private static ArrayNode common(JsonNode first, JsonNode second) {
        Set<JsonNode> two = new HashSet<>();
        second.forEach(two::add);
        ArrayNode both = NODES.arrayNode();
        first.forEach(value -> {
            if (two.contains(value)) {
                both.add(value);
            }
        });
        if (both.isEmpty()) {
            throw new GrammarException("\"enum\": " + first + " and " + second + " have no value in common");
        }
        return both;
    }

    private static JsonNode properties(JsonNode first, JsonNode second) {
        ObjectNode all = object("\"properties\"", first);
        object("\"properties\"", second).properties().forEach(entry -> {
            JsonNode before = all.get(entry.getKey());
            all.set(
                    entry.getKey(),
                    before == null
                            ? entry.getValue()
                            : NODES.objectNode()
                                    .set("allOf", NODES.arrayNode().add(before).add(entry.getValue())));
        });
        return all;
    }

    /** Every pair of options. */
    private static JsonNode options(JsonNode first, JsonNode second) {
        if ((long) first.size() * second.size() > MOST_OPTIONS) {
            throw new GrammarException("\"anyOf\": more than " + MOST_OPTIONS + " combinations");
        }
        ArrayNode pairs = NODES.arrayNode();
        for (JsonNode one : first) {
            for (JsonNode two : second) {
                pairs.add(NODES.objectNode()
                        .set("allOf", NODES.arrayNode().add(one).add(two)));
            }
        }
        return pairs;
    }
}
