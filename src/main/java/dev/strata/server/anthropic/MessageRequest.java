package dev.strata.server.anthropic;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.GenerateRequest;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import dev.strata.server.openai.Reasoning;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A request of {@code /v1/messages}. */
record MessageRequest(GenerateRequest generate, boolean stream) {
    private static final int MAX_STOPS = 64;

    static MessageRequest read(Fields fields, @Nullable Duration timeout) {
        Integer maxTokens = fields.integer("max_tokens", 1, Integer.MAX_VALUE);
        List<String> stop = fields.strings("stop_sequences");
        if (stop.size() > MAX_STOPS || stop.contains("")) {
            throw fields.invalid(
                    "stop_sequences", "'stop_sequences' takes up to " + MAX_STOPS + " strings, none of them empty");
        }
        GenerateRequest generate = new GenerateRequest(
                prompt(fields), sampling(fields), format(fields), maxTokens, stop, -1, 1, false, false, false, timeout);
        return new MessageRequest(generate, fields.bool("stream", false));
    }

    /** The conversation alone, which is all that counting needs. */
    static Prompt.Chat prompt(Fields fields) {
        List<Tool> tools = ToolsReader.tools(fields);
        ToolChoice choice = ToolsReader.choice(fields, tools);
        return new Prompt.Chat(
                ConversationReader.read(fields), tools, choice, ToolsReader.parallel(fields), thinking(fields));
    }

    private static SamplingOptions sampling(Fields fields) {
        return new SamplingOptions(
                fields.number("temperature", 0, 2),
                fields.integer("top_k", 0, Integer.MAX_VALUE),
                fields.number("top_p", 0, 1),
                null,
                null,
                null,
                null,
                null,
                null,
                Map.of());
    }

    /** In this API thinking is off unless asked for. */
    private static Map<String, Object> thinking(Fields fields) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        Fields output = fields.object("output_config");
        if (output != null) {
            arguments.putAll(Reasoning.effort(output.string("effort")));
        }
        Fields thinking = fields.object("thinking");
        boolean on = thinking != null && isOn(thinking);
        arguments.put("enable_thinking", on);
        if (thinking != null && on) {
            Integer budget = thinking.integer("budget_tokens", 0, Integer.MAX_VALUE);
            if (budget != null) {
                arguments.put("thinking_budget", budget);
            }
        }
        return arguments;
    }

    private static boolean isOn(Fields thinking) {
        String type = thinking.requireString("type");
        return switch (type) {
            case "enabled", "adaptive" -> true;
            case "disabled" -> false;
            default ->
                throw thinking.invalid(
                        "type", "'thinking.type' must be enabled, adaptive or disabled, not '" + type + "'");
        };
    }

    /** {@code output_format}, or {@code output_config.format}. */
    private static OutputFormat format(Fields fields) {
        Fields format = fields.object("output_format");
        Fields output = fields.object("output_config");
        if (format == null && output != null) {
            format = output.object("format");
        }
        if (format == null) {
            return new OutputFormat.Text();
        }
        String type = format.requireString("type");
        if (!type.equals("json_schema")) {
            throw format.invalid("type", "'" + format.path("type") + "' must be json_schema, not '" + type + "'");
        }
        JsonNode schema = format.require("schema");
        return new OutputFormat.JsonSchema("response", Json.text(schema));
    }
}
