package dev.strata.grammar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.Tool;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;

/** Answers that are calls of tools, in either dialect. */
final class ToolCallRules {
    private static final String END_PARAMETER = "</parameter>";
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final GrammarBuilder builder;
    private final JsonRules rules;
    private final boolean xml;

    ToolCallRules(GrammarBuilder builder, JsonRules rules, boolean xml) {
        this.builder = builder;
        this.rules = rules;
        this.xml = xml;
    }

    /** One call of one of the tools, or several, one a line. */
    int calls(int from, List<Tool> tools, boolean several) {
        List<ToIntFunction<Integer>> options = new ArrayList<>();
        tools.forEach(tool -> options.add(at -> xml ? xml(at, tool) : hermes(at, tool)));
        int call = builder.node();
        builder.end(builder.choice(call, options));
        int behind = builder.call(from, call);
        if (several) {
            int again = builder.node();
            builder.empty(behind, again);
            builder.empty(builder.call(builder.literal(again, "\n"), call), again);
            int end = builder.node();
            builder.empty(again, end);
            return end;
        }
        return behind;
    }

    /** A tool without a schema has no parameters. */
    private JsonNode schema(Tool tool) {
        try {
            JsonNode schema = MAPPER.readTree(tool.parametersSchema());
            return schema.isObject() && schema.isEmpty()
                    ? MAPPER.readTree("{\"type\":\"object\",\"properties\":{}}")
                    : schema;
        } catch (JsonProcessingException error) {
            throw new GrammarException("the parameters of tool \"" + tool.name() + "\" are not JSON");
        }
    }

    private int hermes(int from, Tool tool) {
        int arguments = builder.literal(
                from, "<tool_call>\n{\"name\": " + ObjectRules.quoted(tool.name()) + ", \"arguments\": ");
        int end = new SchemaCompiler(builder, rules, schema(tool)).compile(arguments);
        return builder.literal(end, "}\n</tool_call>");
    }

    private int xml(int from, Tool tool) {
        JsonNode schema = schema(tool);
        SchemaCompiler compiler = new SchemaCompiler(builder, rules, schema);
        Set<String> required = new HashSet<>();
        schema.path("required").forEach(name -> required.add(name.asText()));
        int at = builder.literal(from, "<tool_call>\n<function=" + tool.name() + ">\n");
        for (var property : schema.path("properties").properties()) {
            int next = builder.node();
            if (!required.contains(property.getKey())) {
                builder.empty(at, next);
            }
            int value = builder.literal(at, "<parameter=" + property.getKey() + ">\n");
            int end = xmlValue(value, property.getValue(), compiler);
            builder.empty(builder.literal(end, "\n"), next);
            at = next;
        }
        compiler.finish();
        return builder.literal(at, "</function>\n</tool_call>");
    }

    /** A value and the tag behind it. Strings are written without quotes; everything else is JSON. */
    private int xmlValue(int from, JsonNode given, SchemaCompiler compiler) {
        JsonNode schema = compiler.flattened(given);
        JsonNode listed = schema.has("const") ? MAPPER.createArrayNode().add(schema.get("const")) : schema.path("enum");
        if (!listed.isEmpty()) {
            List<String> words = new ArrayList<>();
            listed.forEach(value -> words.add(value.isTextual() ? value.asText() : value.toString()));
            return builder.literal(builder.words(from, words), "\n" + END_PARAMETER);
        }
        Set<String> types = compiler.possibleTypes(schema);
        if (!types.isEmpty() && !types.contains("string")) {
            return builder.literal(compiler.value(from, schema), "\n" + END_PARAMETER);
        }
        TextAutomaton rules = types.equals(Set.of("string")) ? StringRules.of(schema) : null;
        return rules == null
                ? freeText(from)
                : builder.literal(StringRules.bare(builder, from, rules), "\n" + END_PARAMETER);
    }

    /** Any text up to the first closing tag, and the tag. */
    private int freeText(int from) {
        int[] nodes = new int[END_PARAMETER.length() + 1];
        for (int index = 0; index < nodes.length; index++) {
            nodes[index] = builder.node();
        }
        builder.empty(from, nodes[0]);
        CodePointSet text = CodePointSet.range(0x20, CodePointSet.LAST).union(CodePointSet.of("\n\t\r"));
        CodePointSet opening = CodePointSet.of("<");
        for (int index = 0; index < END_PARAMETER.length(); index++) {
            CodePointSet next = CodePointSet.of(END_PARAMETER.substring(index, index + 1));
            builder.characters(nodes[index], next, nodes[index + 1]);
            if (index > 0) {
                builder.characters(nodes[index], opening, nodes[1]);
            }
            builder.characters(nodes[index], text.minus(next).minus(opening), nodes[0]);
        }
        return nodes[END_PARAMETER.length()];
    }
}
