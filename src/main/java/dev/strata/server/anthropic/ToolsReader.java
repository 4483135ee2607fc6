package dev.strata.server.anthropic;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;

/** {@code tools} and {@code tool_choice}. Tools without a schema of their own run on their maker's servers or are known to its models only; they are skipped. */
final class ToolsReader {
    private ToolsReader() {}

    static List<Tool> tools(Fields fields) {
        List<JsonNode> nodes = fields.list("tools");
        List<Tool> tools = new ArrayList<>(nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            Fields tool = Fields.of(nodes.get(i), "tools[" + i + "]");
            if (!tool.string("type", "custom").equals("custom")) {
                continue;
            }
            String name = tool.requireString("name");
            Fields schema = tool.object("input_schema");
            Object parameters =
                    schema == null ? Json.object("type", "object", "properties", Json.object()) : schema.node();
            String description = tool.string("description", "");
            tools.add(new Tool(
                    name,
                    description,
                    Json.text(parameters),
                    Json.text(Json.object(
                            "type",
                            "function",
                            "function",
                            Json.object("name", name, "description", description, "parameters", parameters)))));
        }
        return tools;
    }

    static ToolChoice choice(Fields fields, List<Tool> tools) {
        Fields choice = fields.object("tool_choice");
        if (choice == null) {
            return new ToolChoice.Auto();
        }
        String type = choice.requireString("type");
        return switch (type) {
            case "auto" -> new ToolChoice.Auto();
            case "none" -> new ToolChoice.None();
            case "any" -> {
                if (tools.isEmpty()) {
                    throw choice.invalid("type", "'tool_choice.type' is any but there are no usable 'tools'");
                }
                yield new ToolChoice.Required();
            }
            case "tool" -> {
                String name = choice.requireString("name");
                if (tools.stream().noneMatch(tool -> tool.name().equals(name))) {
                    throw choice.invalid("name", "'tool_choice.name' is '" + name + "', which is not among the tools");
                }
                yield new ToolChoice.Named(name);
            }
            default ->
                throw choice.invalid("type", "'tool_choice.type' must be auto, any, tool or none, not '" + type + "'");
        };
    }

    static boolean parallel(Fields fields) {
        Fields choice = fields.object("tool_choice");
        return choice == null || !choice.bool("disable_parallel_tool_use", false);
    }
}
