package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.api.TokenLogprob;
import dev.strata.server.http.Ids;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Builds the output items of a response from deltas and tells every step as an event. Streams send the events; plain answers only take the items, so both agree.
 */
final class ResponseOutput {
    /** Hears of every step. */
    interface Steps {
        /** For plain answers, which take the items in the end. */
        Steps UNHEARD = new Steps() {
            @Override
            public void event(String type, Map<String, @Nullable Object> members) {}

            @Override
            public void piece(
                    String item, String type, Function<String, Map<String, @Nullable Object>> members, String text) {}
        };

        void event(String type, Map<String, @Nullable Object> members);

        /**
         * More text of an item.
         *
         * @param members give those of the event around a text; but for the text they are the same for all pieces of an item
         */
        void piece(String item, String type, Function<String, Map<String, @Nullable Object>> members, String text);
    }

    private final Steps steps;
    private final List<Map<String, @Nullable Object>> items = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private final List<TokenLogprob> logprobs = new ArrayList<>();
    private Kind open = Kind.NONE;
    private String itemId = "";
    private String callId = "";
    private String callName = "";

    private enum Kind {
        NONE,
        REASONING,
        MESSAGE,
        CALL
    }

    ResponseOutput(Steps steps) {
        this.steps = steps;
    }

    /** Items that are complete. */
    List<Map<String, @Nullable Object>> items() {
        return items;
    }

    void add(Delta delta) {
        switch (delta) {
            case Delta.Reasoning reasoning -> {
                open(Kind.REASONING, "rs_");
                append("response.reasoning_text.delta", reasoning.text(), List.of());
            }
            case Delta.Content content -> {
                open(Kind.MESSAGE, "msg_");
                logprobs.addAll(content.logprobs());
                append("response.output_text.delta", content.text(), content.logprobs());
            }
            case Delta.ToolCallStart start -> {
                close("completed");
                callId = start.id();
                callName = start.name();
                open(Kind.CALL, "fc_");
            }
            case Delta.ToolCallArguments more ->
                append("response.function_call_arguments.delta", more.fragment(), List.of());
            case Delta.Progress _, Delta.Finished _, Delta.Failed _ -> {
                // The whole response's matter.
            }
        }
    }

    /** Ends the item that is open. @param status completed or incomplete */
    void close(String status) {
        switch (open) {
            case NONE -> {
                return;
            }
            case REASONING -> {
                emit("response.reasoning_text.done", "content_index", 0, "text", text.toString());
                emit("response.content_part.done", "content_index", 0, "part", part());
            }
            case MESSAGE -> {
                emit(
                        "response.output_text.done",
                        "content_index",
                        0,
                        "text",
                        text.toString(),
                        "logprobs",
                        shape(logprobs));
                emit("response.content_part.done", "content_index", 0, "part", part());
            }
            case CALL -> emit("response.function_call_arguments.done", "name", callName, "arguments", text.toString());
        }
        Map<String, @Nullable Object> item = item(status);
        emitItem("response.output_item.done", item);
        items.add(item);
        open = Kind.NONE;
        text.setLength(0);
        logprobs.clear();
    }

    private void open(Kind kind, String prefix) {
        if (open == kind && kind != Kind.CALL) {
            return;
        }
        close("completed");
        open = kind;
        itemId = Ids.next(prefix);
        emitItem("response.output_item.added", item("in_progress"));
        if (kind != Kind.CALL) {
            emit("response.content_part.added", "content_index", 0, "part", part());
        }
    }

    private void append(String type, String piece, List<TokenLogprob> tokens) {
        text.append(piece);
        if (tokens.isEmpty()) {
            steps.piece(itemId, type, around -> members(around, tokens), piece);
        } else {
            steps.event(type, members(piece, tokens));
        }
    }

    private Map<String, @Nullable Object> members(String piece, List<TokenLogprob> tokens) {
        Map<String, @Nullable Object> members = Json.object("item_id", itemId, "output_index", items.size());
        if (open != Kind.CALL) {
            members.put("content_index", 0);
        }
        members.put("delta", piece);
        if (open == Kind.MESSAGE) {
            members.put("logprobs", shape(tokens));
        }
        return members;
    }

    /** The item as far as it has come; an item just added has no content yet. */
    private Map<String, @Nullable Object> item(String status) {
        boolean fresh = status.equals("in_progress");
        List<Object> content = fresh ? List.of() : List.of(part());
        return switch (open) {
            case REASONING ->
                Json.object(
                        "id", itemId, "type", "reasoning", "summary", List.of(), "content", content, "status", status);
            case MESSAGE ->
                Json.object("id", itemId, "type", "message", "status", status, "role", "assistant", "content", content);
            case CALL ->
                Json.object(
                        "id",
                        itemId,
                        "type",
                        "function_call",
                        "status",
                        status,
                        "call_id",
                        callId,
                        "name",
                        callName,
                        "arguments",
                        text.toString());
            case NONE -> throw new IllegalStateException("No item is open");
        };
    }

    private Map<String, @Nullable Object> part() {
        return open == Kind.REASONING
                ? Json.object("type", "reasoning_text", "text", text.toString())
                : Json.object(
                        "type",
                        "output_text",
                        "text",
                        text.toString(),
                        "annotations",
                        List.of(),
                        "logprobs",
                        shape(logprobs));
    }

    private static Object shape(List<TokenLogprob> tokens) {
        Object content = Logprobs.chat(tokens).get("content");
        return content == null ? List.of() : content;
    }

    private void emitItem(String type, Map<String, @Nullable Object> item) {
        steps.event(type, Json.object("output_index", items.size(), "item", item));
    }

    private void emit(String type, @Nullable Object... members) {
        Map<String, @Nullable Object> event = Json.object("item_id", itemId, "output_index", items.size());
        event.putAll(Json.object(members));
        steps.event(type, event);
    }
}
