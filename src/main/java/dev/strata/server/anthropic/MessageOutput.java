package dev.strata.server.anthropic;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.Usage;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builds the content blocks of a message from deltas and tells every step as an event; plain answers take the blocks, streams the events. */
final class MessageOutput {
    /** Hears of every step. */
    interface Steps {
        /** For plain answers, which take the blocks in the end. */
        Steps UNHEARD = new Steps() {
            @Override
            public void event(String type, Map<String, @Nullable Object> members) {}

            @Override
            public void piece(int block, String type, String member, String text) {}
        };

        void event(String type, Map<String, @Nullable Object> members);

        /**
         * More text of a block.
         *
         * @param type of the delta
         * @param member of the delta that has the text
         */
        void piece(int block, String type, String member, String text);
    }

    private final Steps steps;
    private final List<Map<String, @Nullable Object>> blocks = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private @Nullable Kind open;
    private String callId = "";
    private String callName = "";
    private boolean calls;

    private enum Kind {
        THINKING,
        TEXT,
        TOOL_USE
    }

    MessageOutput(Steps steps) {
        this.steps = steps;
    }

    /** Blocks that are complete. */
    List<Map<String, @Nullable Object>> blocks() {
        return blocks;
    }

    void add(Delta delta) {
        switch (delta) {
            case Delta.Reasoning reasoning -> {
                open(Kind.THINKING);
                append("thinking_delta", "thinking", reasoning.text());
            }
            case Delta.Content content -> {
                open(Kind.TEXT);
                append("text_delta", "text", content.text());
            }
            case Delta.ToolCallStart start -> {
                close();
                callId = start.id();
                callName = start.name();
                calls = true;
                open(Kind.TOOL_USE);
            }
            case Delta.ToolCallArguments more -> append("input_json_delta", "partial_json", more.fragment());
            case Delta.Progress _, Delta.Finished _, Delta.Failed _ -> {
                // The whole message's matter.
            }
        }
    }

    /** Ends the block that is open. */
    void close() {
        if (open == null) {
            return;
        }
        if (open == Kind.THINKING) {
            steps.piece(blocks.size(), "signature_delta", "signature", "");
        }
        steps.event("content_block_stop", Json.object("index", blocks.size()));
        blocks.add(
                switch (open) {
                    case THINKING -> thinking(text.toString());
                    case TEXT -> text(text.toString());
                    case TOOL_USE -> toolUse(input());
                });
        open = null;
        text.setLength(0);
    }

    private void open(Kind kind) {
        if (open == kind) {
            return;
        }
        close();
        open = kind;
        Map<String, @Nullable Object> block = switch (kind) {
            case THINKING -> thinking("");
            case TEXT -> text("");
            case TOOL_USE -> toolUse(Json.object());
        };
        steps.event("content_block_start", Json.object("index", blocks.size(), "content_block", block));
    }

    private void append(String type, String member, String piece) {
        text.append(piece);
        steps.piece(blocks.size(), type, member, piece);
    }

    private static Map<String, @Nullable Object> thinking(String thoughts) {
        return Json.object("type", "thinking", "thinking", thoughts, "signature", "");
    }

    private static Map<String, @Nullable Object> text(String words) {
        return Json.object("type", "text", "text", words);
    }

    private Map<String, @Nullable Object> toolUse(Object input) {
        return Json.object("type", "tool_use", "id", callId, "name", callName, "input", input);
    }

    /** The API wants an object even of a call that was cut off. */
    private Object input() {
        JsonNode node = Json.lenient(text.toString());
        return node.isObject() ? node : text.isEmpty() ? Json.object() : Json.object("raw", text.toString());
    }

    String stopReason(Delta.Finished finished) {
        FinishReason reason = finished.reason();
        return switch (reason) {
            case STOP -> calls ? "tool_use" : finished.stopString() != null ? "stop_sequence" : "end_turn";
            case TOOL_CALLS -> "tool_use";
            case LENGTH -> "max_tokens";
            case CANCELLED -> "cancelled";
            case REPETITION -> "repetition";
        };
    }

    /** In this API the cached tokens are not part of the input tokens. */
    static Map<String, @Nullable Object> usage(Usage usage) {
        return Json.object(
                "input_tokens",
                usage.promptTokens() - usage.cachedTokens(),
                "cache_creation_input_tokens",
                0,
                "cache_read_input_tokens",
                usage.cachedTokens(),
                "output_tokens",
                usage.completionTokens());
    }
}
