package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Objects of JSON: the properties in the schema's order, then others where they are allowed. */
final class ObjectRules {
    /** More keys that may all come next would make every step of the text slow. */
    private static final int MOST_OPTIONAL = 1_000;

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
        for (String name : required) {
            if (!properties.has(name)) {
                throw new GrammarException("\"required\" names \"" + name + "\", which is not among the properties");
            }
        }
        if (properties.isEmpty() && others.isBoolean() && others.asBoolean()) {
            return rules.object(from);
        }
        List<String> names = new ArrayList<>();
        List<String> forbidden = new ArrayList<>();
        properties
                .properties()
                .forEach(entry -> (SchemaKeywords.isFalse(entry.getValue()) ? forbidden : names).add(entry.getKey()));
        for (String name : forbidden) {
            if (required.contains(name)) {
                throw new GrammarException("\"required\" names \"" + name + "\", whose schema is false");
            }
        }
        if (names.size() - required.size() > MOST_OPTIONAL) {
            throw new GrammarException("\"properties\": an object has more than " + MOST_OPTIONAL
                    + " that are not among the required ones");
        }
        return new Body(names, forbidden, required, SchemaKeywords.isFalse(others) ? null : others)
                .append(from, properties);
    }

    /** What lies between the braces. */
    private final class Body {
        private final List<String> names;
        private final List<String> forbidden;
        private final Set<String> required;
        private final @Nullable JsonNode others;
        private final int lastRequired;
        /** For each property the node where it or a later one begins; the last one is for further properties. */
        private final int[] next;

        private final int close = builder.node();

        private Body(List<String> names, List<String> forbidden, Set<String> required, @Nullable JsonNode others) {
            this.names = names;
            this.forbidden = forbidden;
            this.required = required;
            this.others = others;
            int last = -1;
            next = new int[names.size() + 1];
            for (int index = 0; index < next.length; index++) {
                next[index] = builder.node();
                last = index < names.size() && required.contains(names.get(index)) ? index : last;
            }
            lastRequired = last;
        }

        private int append(int from, JsonNode properties) {
            int open = builder.literal(from, "{");
            if (lastRequired < 0) {
                builder.empty(open, close);
            }
            builder.empty(rules.space(open), next[0]);
            for (int index = 0; index < names.size(); index++) {
                String name = names.get(index);
                int colon = builder.literal(next[index], quoted(name) + ":");
                behind(schemas.value(rules.blank(colon), properties.get(name)), index + 1);
                if (!required.contains(name)) {
                    builder.empty(next[index], next[index + 1]);
                }
            }
            JsonNode further = others;
            if (further != null) {
                List<String> taken = new ArrayList<>(names);
                taken.addAll(forbidden);
                int key = StringRules.quoted(builder, next[names.size()], TextAutomaton.except(taken), false);
                behind(schemas.value(rules.blank(builder.literal(key, ":")), further), names.size());
            }
            return builder.literal(close, "}");
        }

        /** Goes on behind a property: with the ones from {@code index} on, or to the end. */
        private void behind(int at, int index) {
            builder.empty(rules.space(builder.literal(at, ",")), next[index]);
            if (lastRequired < index) {
                builder.empty(rules.space(at), close);
            }
        }
    }

    /** What the schema says of further properties. Silence allows them; here only where nothing else describes the object. */
    private static JsonNode others(JsonNode schema, JsonNode properties) {
        JsonNode others = schema.path("additionalProperties");
        if (others.isMissingNode()) {
            others = schema.path("unevaluatedProperties");
        }
        return others.isMissingNode() ? BooleanNode.valueOf(properties.isMissingNode()) : others;
    }

    static String quoted(String name) {
        return TextNode.valueOf(name).toString();
    }
}
