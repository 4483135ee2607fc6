package dev.strata.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One turn of a conversation. Content is text; parts were joined by the server.
 *
 * @param role system, user, assistant or tool (developer was mapped to system)
 * @param reasoning an assistant turn's reasoning, when the client sent it back
 * @param toolCallId for tool turns, when the client gave one
 */
public record Message(
        String role,
        @Nullable String content,
        @Nullable String reasoning,
        List<ToolCall> toolCalls,
        @Nullable String toolCallId,
        @Nullable String name) {
    public static Message of(String role, String content) {
        return new Message(role, content, null, List.of(), null, null);
    }

    /**
     * A call of a function in an assistant turn.
     *
     * @param arguments JSON text of an object
     */
    public record ToolCall(String id, String name, String arguments) {}
}
