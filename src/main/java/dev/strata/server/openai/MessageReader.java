package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Message;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Ids;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code messages} of chat completions. */
final class MessageReader {
    private MessageReader() {}

    static List<Message> read(Fields fields) {
        fields.require("messages");
        List<JsonNode> nodes = fields.list("messages");
        if (nodes.isEmpty()) {
            throw fields.invalid("messages", "'messages' must not be empty");
        }
        List<Message> messages = new ArrayList<>(nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            messages.add(message(Fields.of(nodes.get(i), "messages[" + i + "]")));
        }
        return messages;
    }

    private static Message message(Fields fields) {
        String role = fields.requireString("role");
        return switch (role) {
            case "system", "developer" -> plain("system", fields);
            case "user" -> plain("user", fields);
            case "assistant" -> assistant(fields);
            case "tool", "function" ->
                new Message(
                        "tool",
                        required(fields),
                        null,
                        List.of(),
                        fields.string("tool_call_id"),
                        fields.string("name"));
            default ->
                throw fields.invalid(
                        "role",
                        "'" + fields.path("role") + "' must be system, developer, user, assistant or tool, not '" + role
                                + "'");
        };
    }

    private static Message plain(String role, Fields fields) {
        return new Message(role, required(fields), null, List.of(), null, fields.string("name"));
    }

    private static String required(Fields fields) {
        String content = content(fields);
        if (content == null) {
            throw fields.missing("content");
        }
        return content;
    }

    private static Message assistant(Fields fields) {
        String content = content(fields);
        List<Message.ToolCall> calls = calls(fields);
        String reasoning = fields.string("reasoning_content");
        if (reasoning == null) {
            reasoning = fields.string("reasoning");
        }
        if (content == null && calls.isEmpty() && reasoning == null) {
            content = fields.string("refusal");
            if (content == null) {
                throw fields.missing("content");
            }
        }
        return new Message("assistant", content, reasoning, calls, null, fields.string("name"));
    }

    /** A string, or text parts that are joined. */
    private static @Nullable String content(Fields fields) {
        JsonNode content = fields.get("content");
        if (content == null || content.isTextual()) {
            return content == null ? null : content.textValue();
        }
        if (!content.isArray()) {
            throw Fields.wrong(fields.path("content"), "a string or an array of parts", content);
        }
        return parts(fields.list("content"), fields.path("content"));
    }

    /** Joins text parts; parts of another kind are refused by name. */
    static String parts(List<JsonNode> parts, String path) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i).isTextual()) {
                text.append(parts.get(i).textValue());
                continue;
            }
            Fields part = Fields.of(parts.get(i), path + "[" + i + "]");
            String type = part.string("type", "text");
            switch (type) {
                case "text", "input_text", "output_text" -> text.append(part.requireString("text"));
                case "refusal" -> text.append(part.requireString("refusal"));
                default ->
                    throw part.invalid(
                            "type", "Parts of type '" + type + "' can't be read: this server takes text only");
            }
        }
        return text.toString();
    }

    private static List<Message.ToolCall> calls(Fields fields) {
        List<Message.ToolCall> calls = new ArrayList<>();
        List<JsonNode> nodes = fields.list("tool_calls");
        for (int i = 0; i < nodes.size(); i++) {
            Fields call = Fields.of(nodes.get(i), fields.path("tool_calls") + "[" + i + "]");
            Fields function = call.object("function");
            if (function == null) {
                throw call.missing("function");
            }
            calls.add(call(call.string("id"), function));
        }
        return calls;
    }

    /** Clients send arguments as JSON text or as the object itself, and ids or none. */
    static Message.ToolCall call(@Nullable String id, Fields function) {
        JsonNode arguments = function.get("arguments");
        String text;
        if (arguments == null) {
            text = "{}";
        } else if (arguments.isObject()) {
            text = Json.text(arguments);
        } else if (arguments.isTextual()) {
            text = argumentsText(arguments.textValue());
        } else {
            throw Fields.wrong(function.path("arguments"), "a string of JSON", arguments);
        }
        return new Message.ToolCall(
                id == null || id.isEmpty() ? Ids.next("call_") : id, function.requireString("name"), text);
    }

    /**
     * Templates want an object. A call that was cut off comes back as broken JSON in the next turn, and refusing it would end that conversation for good, so
     * it goes in as an object with the text as its only member.
     */
    static String argumentsText(String text) {
        if (text.isBlank()) {
            return "{}";
        }
        return Json.lenient(text).isObject() ? text : Json.text(Json.object("raw", text));
    }
}
