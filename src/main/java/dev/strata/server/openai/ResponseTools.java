package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;

/** Tools of the Responses API: functions lie flat in the list; tools of other types, which only their maker's servers can run, are skipped. */
final class ResponseTools {
    private ResponseTools() {}

    static List<Tool> read(Fields fields) {
        List<JsonNode> nodes = fields.list("tools");
        List<Tool> tools = new ArrayList<>(nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            Fields tool = Fields.of(nodes.get(i), "tools[" + i + "]");
            if (tool.requireString("type").equals("function")) {
                tools.add(ToolReader.tool(tool, chatForm(tool)));
            }
        }
        return tools;
    }

    /** The form that chat templates know. */
    private static String chatForm(Fields tool) {
        Fields parameters = tool.object("parameters");
        return Json.text(Json.object(
                "type",
                "function",
                "function",
                Json.object(
                        "name",
                        tool.requireString("name"),
                        "description",
                        tool.string("description", ""),
                        "parameters",
                        parameters == null
                                ? Json.object("type", "object", "properties", Json.object())
                                : parameters.node())));
    }

    static ToolChoice choice(Fields fields, List<Tool> tools) {
        JsonNode node = fields.get("tool_choice");
        if (node != null && node.isObject()) {
            String type = Fields.of(node, "tool_choice").requireString("type");
            if (type.equals("allowed_tools")) {
                return "required".equals(Fields.of(node, "tool_choice").string("mode"))
                        ? new ToolChoice.Required()
                        : new ToolChoice.Auto();
            }
            if (!type.equals("function")) {
                // It asks for a tool that was skipped.
                return new ToolChoice.Auto();
            }
        }
        return ToolReader.choice(fields, tools);
    }
}
