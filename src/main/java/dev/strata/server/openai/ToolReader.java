package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;

/** {@code tools} and {@code tool_choice} of chat completions. */
final class ToolReader {
    private ToolReader() {}

    static List<Tool> tools(Fields fields) {
        List<JsonNode> nodes = fields.list("tools");
        if (nodes.isEmpty() && fields.has("functions")) {
            throw fields.invalid("functions", "'functions' is the old form: send the functions in 'tools'");
        }
        List<Tool> tools = new ArrayList<>(nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            Fields tool = Fields.of(nodes.get(i), "tools[" + i + "]");
            String type = tool.string("type", "function");
            if (!type.equals("function")) {
                throw tool.invalid("type", "'" + tool.path("type") + "' must be function, not '" + type + "'");
            }
            Fields function = tool.object("function");
            if (function == null) {
                throw tool.missing("function");
            }
            tools.add(tool(function, Json.text(tool.node())));
        }
        return tools;
    }

    /** @param json the tool as templates are to see it */
    static Tool tool(Fields function, String json) {
        String name = function.requireString("name");
        if (name.isEmpty()) {
            throw function.invalid("name", "'" + function.path("name") + "' must not be empty");
        }
        Fields parameters = function.object("parameters");
        return new Tool(
                name,
                function.string("description", ""),
                parameters == null ? "{}" : Json.text(parameters.node()),
                json);
    }

    static ToolChoice choice(Fields fields, List<Tool> tools) {
        JsonNode node = fields.get("tool_choice");
        if (node == null) {
            return new ToolChoice.Auto();
        }
        if (node.isTextual()) {
            return word(fields, node.textValue(), tools);
        }
        Fields choice = Fields.of(node, fields.path("tool_choice"));
        String type = choice.requireString("type");
        if (!type.equals("function")) {
            throw choice.invalid("type", "'" + choice.path("type") + "' must be function, not '" + type + "'");
        }
        Fields function = choice.object("function");
        // The Responses API puts the name beside the type.
        return named(function == null ? choice : function, tools);
    }

    private static ToolChoice word(Fields fields, String word, List<Tool> tools) {
        return switch (word) {
            case "auto" -> new ToolChoice.Auto();
            case "none" -> new ToolChoice.None();
            case "required", "any" -> {
                if (tools.isEmpty()) {
                    throw fields.invalid("tool_choice", "'tool_choice' is '" + word + "' but there are no 'tools'");
                }
                yield new ToolChoice.Required();
            }
            default ->
                throw fields.invalid(
                        "tool_choice", "'tool_choice' must be none, auto, required or a function, not '" + word + "'");
        };
    }

    static ToolChoice named(Fields function, List<Tool> tools) {
        String name = function.requireString("name");
        if (tools.stream().noneMatch(tool -> tool.name().equals(name))) {
            throw function.invalid(
                    "name", "'" + function.path("name") + "' is '" + name + "', which is not among the tools");
        }
        return new ToolChoice.Named(name);
    }
}
