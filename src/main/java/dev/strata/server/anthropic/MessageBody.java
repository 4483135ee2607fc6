package dev.strata.server.anthropic;

import dev.strata.server.http.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The message object around its content blocks. */
record MessageBody(String id, String model) {
    Map<String, @Nullable Object> of(
            List<?> content, @Nullable String stopReason, @Nullable String stopSequence, Object usage) {
        return Json.object(
                "id", id,
                "type", "message",
                "role", "assistant",
                "model", model,
                "content", content,
                "stop_reason", stopReason,
                "stop_sequence", stopSequence,
                "usage", usage);
    }
}
