package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Appends the values that satisfy a JSON schema to a grammar. Properties come in the schema's order; others follow where the schema allows
 * them in so many words.
 */
final class SchemaCompiler {
    private static final int DEEPEST = 64;
    private static final int MOST_ITEMS = 10_000;
    private static final int MOST_MERGES = 20_000;
    private static final int MOST_OPTIONS = 1_000;
    private static final Set<String> ANNOTATIONS = Set.of(
            "title",
            "description",
            "default",
            "examples",
            "example",
            "$schema",
            "$id",
            "$comment",
            "$defs",
            "definitions",
            "discriminator",
            "deprecated",
            "readOnly",
            "writeOnly");

    private final GrammarBuilder builder;
    private final JsonRules rules;
    private final JsonNode root;
    private final Map<String, Integer> references = new HashMap<>();
    private final Deque<String> open = new ArrayDeque<>();
    private int depth;
    private int merges;

    /** @param root what references begin at */
    SchemaCompiler(GrammarBuilder builder, JsonRules rules, JsonNode root) {
        this.builder = builder;
        this.rules = rules;
        this.root = root;
    }

    /** Appends a value of the whole schema. */
    int compile(int from) {
        int to = value(from, root);
        finish();
        return to;
    }

    /** Makes the rules of references that were used. */
    void finish() {
        while (!open.isEmpty()) {
            String reference = open.remove();
            builder.end(value(references.getOrDefault(reference, 0), target(reference)));
        }
    }

    /** @throws GrammarException naming the keyword at fault */
    int value(int from, JsonNode schema) {
        if (++depth > DEEPEST) {
            throw new GrammarException("the schema is nested deeper than " + DEEPEST);
        }
        int to = resolved(from, schema);
        depth--;
        return to;
    }

    private int resolved(int from, JsonNode given) {
        if (SchemaKeywords.isFalse(given)) {
            throw new GrammarException("a schema is false: nothing can satisfy it");
        }
        if (given.isBoolean()) {
            return rules.any(from);
        }
        if (!given.isObject()) {
            throw new GrammarException("a schema should be an object, but is " + given);
        }
        if (given.has("$ref") && isBare(given, "$ref")) {
            return builder.call(from, reference(given.get("$ref").asText()));
        }
        JsonNode schema = flattened(given, 0);
        if (schema.isBoolean()) {
            return resolved(from, schema);
        }
        SchemaKeywords.check(schema);
        if (schema.has("const")) {
            return constant(from, schema, schema.get("const"));
        }
        if (schema.has("enum")) {
            return enumeration(from, schema);
        }
        for (String keyword : List.of("anyOf", "oneOf")) {
            if (schema.has(keyword)) {
                return alternatives(from, schema, keyword);
            }
        }
        Set<String> types = SchemaKeywords.types(schema);
        if (types.isEmpty()) {
            return rules.any(from);
        }
        List<ToIntFunction<Integer>> options = new ArrayList<>();
        types.forEach(type -> options.add(at -> typed(at, type, schema)));
        return options.size() == 1 ? options.getFirst().applyAsInt(from) : builder.choice(from, options);
    }

    /** The rule of a reference; made once and later, so that schemas may refer to themselves. */
    private int reference(String reference) {
        return references.computeIfAbsent(reference, name -> {
            target(name);
            open.add(name);
            return builder.node();
        });
    }

    private JsonNode target(String reference) {
        if (!reference.startsWith("#")) {
            throw new GrammarException(
                    "\"$ref\": \"" + reference + "\" leads out of the schema; only references inside it are followed");
        }
        String pointer = java.net.URLDecoder.decode(
                reference.substring(1).replace("+", "%2B"), java.nio.charset.StandardCharsets.UTF_8);
        JsonNode target;
        try {
            target = root.at(pointer);
        } catch (IllegalArgumentException error) {
            throw new GrammarException("\"$ref\": \"" + reference + "\" is no JSON pointer");
        }
        if (target.isMissingNode()) {
            throw new GrammarException("\"$ref\": \"" + reference + "\" leads nowhere");
        }
        return target;
    }

    JsonNode flattened(JsonNode schema) {
        return schema.isObject() ? flattened(schema, 0) : schema;
    }

    /** The types that a flattened schema or one of its options names; empty when it names none. */
    Set<String> possibleTypes(JsonNode schema) {
        Set<String> types = new java.util.LinkedHashSet<>(SchemaKeywords.types(schema));
        for (String keyword : List.of("anyOf", "oneOf")) {
            for (JsonNode option : schema.path(keyword)) {
                types.addAll(SchemaKeywords.types(flattened(option)));
            }
        }
        return types;
    }

    /** The schema with allOf, and references beside other keywords, merged in. */
    private JsonNode flattened(JsonNode schema, int level) {
        if (level > DEEPEST) {
            throw new GrammarException("\"allOf\" or \"$ref\" goes round in circles");
        }
        if (!schema.has("allOf") && !schema.has("$ref")) {
            return schema;
        }
        if (++merges > MOST_MERGES) {
            throw new GrammarException("\"allOf\", \"anyOf\" and \"$ref\" make too many combinations");
        }
        ObjectNode rest = SchemaMerge.copy(schema);
        JsonNode all = rest.remove("allOf");
        JsonNode reference = rest.remove("$ref");
        JsonNode merged = rest;
        if (reference != null) {
            merged = SchemaMerge.merge(flattened(target(reference.asText()), level + 1), merged);
        }
        if (all != null) {
            if (!all.isArray()) {
                throw new GrammarException("\"allOf\" should be a list of schemas, but is " + all);
            }
            for (JsonNode part : all) {
                merged = SchemaMerge.merge(merged, flattened(part, level + 1));
            }
        }
        return merged.isObject() ? flattened(merged, level + 1) : merged;
    }

    private int constant(int from, JsonNode schema, JsonNode value) {
        Set<String> types = SchemaKeywords.types(schema);
        boolean listed = !schema.has("enum");
        for (JsonNode one : schema.path("enum")) {
            listed |= one.equals(value);
        }
        if (!listed || !types.isEmpty() && !isOfType(value, types)) {
            throw new GrammarException(
                    "\"const\": " + value + " is not of the \"type\", or not in the \"enum\", beside it");
        }
        return builder.literal(from, value.toString());
    }

    private static boolean isOfType(JsonNode value, Set<String> types) {
        return types.contains(typeOf(value))
                || value.isNumber() && types.contains("number")
                || isWhole(value) && types.contains("integer");
    }

    /** Whether a number without a fraction, as 1.0 is. */
    private static boolean isWhole(JsonNode value) {
        return value.isNumber() && value.doubleValue() == Math.rint(value.doubleValue());
    }

    private int enumeration(int from, JsonNode schema) {
        Set<String> types = SchemaKeywords.types(schema);
        List<String> words = new ArrayList<>();
        for (JsonNode value : schema.get("enum")) {
            if (types.isEmpty() || isOfType(value, types)) {
                words.add(value.toString());
            }
        }
        if (schema.path("nullable").asBoolean()) {
            words.add("null");
        }
        if (words.isEmpty()) {
            throw new GrammarException("\"enum\" has no value of the schema's type");
        }
        return builder.words(from, words);
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

    private int alternatives(int from, JsonNode schema, String keyword) {
        ObjectNode base = SchemaMerge.copy(schema);
        JsonNode options = base.remove(keyword);
        if (!options.isArray() || options.isEmpty()) {
            throw new GrammarException("\"" + keyword + "\" should be a list of schemas");
        }
        if (options.size() > MOST_OPTIONS) {
            throw new GrammarException("\"" + keyword + "\" has more than " + MOST_OPTIONS + " schemas");
        }
        boolean bare = isBare(schema, keyword);
        List<ToIntFunction<Integer>> ways = new ArrayList<>();
        GrammarException impossible = null;
        for (JsonNode option : options) {
            try {
                JsonNode merged = bare ? option : SchemaMerge.merge(base, flattened(option, 0));
                ways.add(at -> value(at, merged));
            } catch (GrammarException error) {
                // An option that contradicts the rest can never hold; the others still can.
                impossible = error;
            }
        }
        if (ways.isEmpty() && impossible != null) {
            throw impossible;
        }
        return builder.choice(from, ways);
    }

    /** Whether the schema says nothing of its values beside one keyword. */
    private static boolean isBare(JsonNode schema, String keyword) {
        return schema.properties().stream()
                .allMatch(entry -> entry.getKey().equals(keyword) || ANNOTATIONS.contains(entry.getKey()));
    }

    private int typed(int from, String type, JsonNode schema) {
        return switch (type) {
            case "null" -> builder.literal(from, "null");
            case "boolean" -> builder.words(from, List.of("true", "false"));
            case "string" -> {
                TextAutomaton text = StringRules.of(schema);
                yield text == null ? rules.string(from) : StringRules.quoted(builder, from, text, true);
            }
            case "integer" -> integer(from, schema);
            case "number" -> number(from, schema);
            case "array" -> array(from, schema);
            default -> new ObjectRules(builder, rules, this).append(from, schema);
        };
    }

    private int integer(int from, JsonNode schema) {
        NumberPatterns.Bound low = bound(schema, "minimum", "exclusiveMinimum", true);
        NumberPatterns.Bound high = bound(schema, "maximum", "exclusiveMaximum", false);
        if (low == null && high == null) {
            return rules.integer(from);
        }
        String expression = NumberPatterns.integers(low, high);
        if (expression.isEmpty()) {
            throw new GrammarException("\"minimum\" and \"maximum\" leave no integer");
        }
        return builder.pattern(from, RegexParser.whole(expression), Map.of());
    }

    private int number(int from, JsonNode schema) {
        NumberPatterns.Bound low = bound(schema, "minimum", "exclusiveMinimum", true);
        NumberPatterns.Bound high = bound(schema, "maximum", "exclusiveMaximum", false);
        return low == null && high == null
                ? rules.number(from)
                : builder.pattern(from, NumberPatterns.numbers(low, high), Map.of());
    }

    /** The tighter of the two keywords; exclusive ones may be numbers, or true beside the other (draft 4). */
    private static NumberPatterns.@Nullable Bound bound(
            JsonNode schema, String inclusive, String exclusive, boolean low) {
        JsonNode edge = schema.path(inclusive);
        JsonNode open = schema.path(exclusive);
        NumberPatterns.Bound first =
                edge.isNumber() ? NumberPatterns.Bound.of(inclusive, edge, open.isBoolean() && open.asBoolean()) : null;
        NumberPatterns.Bound second = open.isNumber() ? NumberPatterns.Bound.of(exclusive, open, true) : null;
        if (first == null || second == null) {
            return first == null ? second : first;
        }
        int order = first.value().compareTo(second.value());
        return order == 0 || order < 0 == low ? second : first;
    }

    private int array(int from, JsonNode schema) {
        JsonNode first = schema.path("prefixItems");
        JsonNode items =
                schema.has("items") ? schema.get("items") : com.fasterxml.jackson.databind.node.BooleanNode.TRUE;
        if (items.isArray()) {
            first = items;
            items = schema.has("additionalItems")
                    ? schema.get("additionalItems")
                    : com.fasterxml.jackson.databind.node.BooleanNode.TRUE;
        }
        int least = SchemaKeywords.count(schema, "minItems", 0);
        int most = SchemaKeywords.count(schema, "maxItems", Integer.MAX_VALUE);
        boolean open = !SchemaKeywords.isFalse(items);
        most = open ? most : Math.min(most, first.size());
        if (least > most) {
            throw new GrammarException("\"minItems\" is larger than the array can be");
        }
        int known = Math.max(least, most == Integer.MAX_VALUE ? first.size() : most);
        if (known > MOST_ITEMS) {
            throw new GrammarException("\"minItems\" or \"maxItems\" is larger than " + MOST_ITEMS);
        }
        JsonNode rest = items;
        int item = -1;
        if (open && (most > first.size())) {
            item = builder.node();
            builder.end(value(item, rest));
        }
        int at = builder.literal(from, "[");
        int close = builder.node();
        if (least == 0) {
            builder.empty(at, close);
        }
        for (int index = 0; index < known; index++) {
            int start = rules.space(index == 0 ? at : builder.literal(at, ","));
            at = index < first.size() ? value(start, first.get(index)) : builder.call(start, item);
            if (index + 1 >= least) {
                builder.empty(rules.space(at), close);
            }
        }
        if (most == Integer.MAX_VALUE) {
            int again = builder.node();
            builder.empty(rules.space(known == 0 ? at : builder.literal(at, ",")), again);
            int behind = builder.call(again, item);
            builder.empty(rules.space(builder.literal(behind, ",")), again);
            builder.empty(rules.space(behind), close);
        }
        return builder.literal(close, "]");
    }
}
