package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How much the model is to think, as template variables. */
public final class Reasoning {
    private static final List<String> EFFORTS = List.of("none", "minimal", "low", "medium", "high", "xhigh", "max");

    private Reasoning() {}

    /** {@code chat_template_kwargs}, {@code reasoning_effort} and {@code reasoning.effort}. What is given explicitly in the first wins. */
    static Map<String, Object> read(Fields fields) {
        String effort = fields.string("reasoning_effort");
        Fields reasoning = fields.object("reasoning");
        if (effort == null && reasoning != null) {
            effort = reasoning.string("effort");
        }
        Map<String, Object> arguments = new LinkedHashMap<>();
        if (effort != null) {
            if (!EFFORTS.contains(effort)) {
                String key = fields.has("reasoning_effort") ? "reasoning_effort" : "reasoning";
                throw fields.invalid(key, "The reasoning effort must be one of " + EFFORTS + ", not '" + effort + "'");
            }
            arguments.putAll(effort(effort));
        }
        Fields extra = fields.object("chat_template_kwargs");
        if (extra != null) {
            for (Map.Entry<String, JsonNode> entry : extra.node().properties()) {
                Object value = Json.plain(entry.getValue());
                if (value != null) {
                    arguments.put(entry.getKey(), value);
                }
            }
        }
        return arguments;
    }

    /** Template variables for an effort; models with a switch only get it turned off by the two lowest. */
    public static Map<String, Object> effort(@Nullable String effort) {
        if (effort == null) {
            return Map.of();
        }
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("reasoning_effort", effort);
        arguments.put("enable_thinking", !effort.equals("none") && !effort.equals("minimal"));
        return arguments;
    }
}
