package dev.strata.server.anthropic;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.strata.api.Message;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Ids;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;

/** {@code system} and {@code messages}: blocks become turns in the engine's form. */
final class ConversationReader {
    /** A line that a coding agent changes with every request; left in, no prefix would ever be found again. */
    private static final String BILLING = "x-anthropic-billing-header:";

    private final List<Message> messages = new ArrayList<>();

    private ConversationReader() {}

    static List<Message> read(Fields fields) {
        ConversationReader reader = new ConversationReader();
        reader.system(fields);
        fields.require("messages");
        List<JsonNode> nodes = fields.list("messages");
        if (nodes.isEmpty()) {
            throw fields.invalid("messages", "'messages' must not be empty");
        }
        for (int i = 0; i < nodes.size(); i++) {
            reader.message(Fields.of(nodes.get(i), "messages[" + i + "]"));
        }
        return reader.messages;
    }

    private void system(Fields fields) {
        List<String> texts = new ArrayList<>();
        for (Fields block : blocks(fields, "system")) {
            String text = withoutBilling(text(block));
            if (!text.isBlank()) {
                texts.add(text);
            }
        }
        if (!texts.isEmpty()) {
            messages.add(Message.of("system", String.join("\n\n", texts)));
        }
    }

    private static String withoutBilling(String text) {
        if (!text.contains(BILLING)) {
            return text;
        }
        List<String> kept = text.lines()
                .filter(line -> !line.stripLeading().startsWith(BILLING))
                .toList();
        return String.join("\n", kept);
    }

    private void message(Fields fields) {
        String role = fields.requireString("role");
        fields.require("content");
        switch (role) {
            case "user" -> user(fields);
            case "assistant" -> assistant(fields);
            case "system" -> messages.add(Message.of("system", joined(blocks(fields, "content"))));
            default ->
                throw fields.invalid(
                        "role", "'" + fields.path("role") + "' must be user or assistant, not '" + role + "'");
        }
    }

    /** Tool results become turns of their own; text before and after them stays in its place. */
    private void user(Fields fields) {
        List<Fields> text = new ArrayList<>();
        boolean results = false;
        for (Fields block : blocks(fields, "content")) {
            if (block.string("type", "text").equals("tool_result")) {
                flushUser(text);
                results = true;
                messages.add(new Message(
                        "tool", joined(blocks(block, "content")), null, List.of(), block.string("tool_use_id"), null));
            } else {
                text.add(block);
            }
        }
        if (!text.isEmpty() || !results) {
            messages.add(Message.of("user", joined(text)));
        }
    }

    private void flushUser(List<Fields> text) {
        if (!text.isEmpty()) {
            messages.add(Message.of("user", joined(text)));
            text.clear();
        }
    }

    private void assistant(Fields fields) {
        List<Fields> text = new ArrayList<>();
        List<Message.ToolCall> calls = new ArrayList<>();
        StringBuilder thoughts = new StringBuilder();
        for (Fields block : blocks(fields, "content")) {
            switch (block.string("type", "text")) {
                case "text" -> text.add(block);
                case "thinking" -> thoughts.append(block.string("thinking", ""));
                case "tool_use" -> calls.add(call(block));
                default -> {
                    // redacted_thinking and what other servers' tools left behind
                }
            }
        }
        messages.add(new Message(
                "assistant",
                text.isEmpty() ? null : joined(text),
                thoughts.isEmpty() ? null : thoughts.toString(),
                calls,
                null,
                null));
    }

    private static Message.ToolCall call(Fields block) {
        Fields input = block.object("input");
        String id = block.string("id", "");
        return new Message.ToolCall(
                id.isEmpty() ? Ids.next("toolu_") : id,
                block.requireString("name"),
                input == null ? "{}" : Json.text(input.node()));
    }

    /** A string counts as one text block. */
    private static List<Fields> blocks(Fields fields, String key) {
        JsonNode node = fields.get(key);
        if (node == null) {
            return List.of();
        }
        if (node.isTextual()) {
            return List.of(Fields.of(textBlock(node), fields.path(key)));
        }
        List<JsonNode> nodes = fields.list(key);
        List<Fields> blocks = new ArrayList<>(nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            blocks.add(Fields.of(nodes.get(i), fields.path(key) + "[" + i + "]"));
        }
        return blocks;
    }

    private static JsonNode textBlock(JsonNode text) {
        return JsonNodeFactory.instance.objectNode().put("type", "text").set("text", text);
    }

    private static String joined(List<Fields> blocks) {
        return String.join("\n", blocks.stream().map(ConversationReader::text).toList());
    }

    private static String text(Fields block) {
        String type = block.string("type", "text");
        if (type.equals("document")) {
            return document(block);
        }
        if (!type.equals("text")) {
            throw block.invalid("type", "Blocks of type '" + type + "' can't be read: this server takes text only");
        }
        return block.requireString("text");
    }

    private static String document(Fields block) {
        Fields source = block.object("source");
        if (source == null || !source.requireString("type").equals("text")) {
            throw block.invalid("source", "'" + block.path("source") + "' must hold text: this server takes text only");
        }
        return source.requireString("data");
    }
}
