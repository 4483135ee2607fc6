package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Message;
import dev.strata.server.http.Fields;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code instructions} and {@code input} of the Responses API as messages. What an assistant turn consists of (reasoning, text, function calls) comes as
 * separate items and is put together again; items of types that other servers' tools leave behind are skipped.
 */
final class ResponseInput {
    private final List<Message> messages = new ArrayList<>();
    private final List<Message.ToolCall> calls = new ArrayList<>();
    private @Nullable String text;
    private @Nullable String reasoning;

    private ResponseInput() {}

    static List<Message> read(Fields fields) {
        ResponseInput input = new ResponseInput();
        String instructions = fields.string("instructions");
        if (instructions != null && !instructions.isEmpty()) {
            input.messages.add(Message.of("system", instructions));
        }
        JsonNode node = fields.require("input");
        if (node.isTextual()) {
            input.messages.add(Message.of("user", node.textValue()));
        } else {
            List<JsonNode> items = fields.list("input");
            for (int i = 0; i < items.size(); i++) {
                input.item(Fields.of(items.get(i), "input[" + i + "]"));
            }
            input.endTurn();
        }
        if (input.messages.isEmpty()) {
            throw fields.invalid("input", "'input' must not be empty");
        }
        return input.messages;
    }

    private void item(Fields item) {
        switch (item.string("type", "message")) {
            case "message" -> message(item);
            case "function_call" -> calls.add(MessageReader.call(item.string("call_id"), item));
            case "function_call_output" -> {
                endTurn();
                messages.add(new Message("tool", output(item), null, List.of(), item.string("call_id"), null));
            }
            case "reasoning" -> reasoning(item);
            default -> {
                // Left by tools that this server does not run.
            }
        }
    }

    private void message(Fields item) {
        String role = item.requireString("role");
        String content = content(item, "content");
        switch (role) {
            case "assistant" -> {
                if (text != null || !calls.isEmpty()) {
                    endTurn();
                }
                text = content;
            }
            case "user", "system", "developer" -> {
                endTurn();
                messages.add(Message.of(role.equals("user") ? "user" : "system", content));
            }
            default ->
                throw item.invalid(
                        "role",
                        "'" + item.path("role") + "' must be user, assistant, system or developer, not '" + role + "'");
        }
    }

    private void reasoning(Fields item) {
        if (text != null || !calls.isEmpty()) {
            endTurn();
        }
        StringBuilder thoughts = new StringBuilder(reasoning == null ? "" : reasoning);
        List<JsonNode> parts = item.list("content");
        for (JsonNode part : parts.isEmpty() ? item.list("summary") : parts) {
            thoughts.append(part.path("text").asText());
        }
        reasoning = thoughts.isEmpty() ? null : thoughts.toString();
    }

    /** A tool's answer: a string, or content parts. */
    private static String output(Fields item) {
        return content(item, "output");
    }

    private static String content(Fields item, String key) {
        JsonNode node = item.require(key);
        if (node.isTextual()) {
            return node.textValue();
        }
        return MessageReader.parts(item.list(key), item.path(key));
    }

    /** The assistant's turn is complete. */
    private void endTurn() {
        if (text != null || reasoning != null || !calls.isEmpty()) {
            messages.add(new Message("assistant", text, reasoning, List.copyOf(calls), null, null));
        }
        text = null;
        reasoning = null;
        calls.clear();
    }
}
