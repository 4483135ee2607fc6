package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.ApiError;
import dev.strata.api.FinishReason;
import dev.strata.api.Usage;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The response object, as it is at the start, at the end, or after a failure. */
final class ResponseBody {
    private final Head head;
    private final Fields request;

    ResponseBody(Head head, Fields request) {
        this.head = head;
        this.request = request;
    }

    Map<String, @Nullable Object> started() {
        return body("in_progress", List.of(), null, null, null);
    }

    Map<String, @Nullable Object> ended(FinishReason reason, List<?> output, Usage usage) {
        String incomplete = switch (reason) {
            case LENGTH -> "max_output_tokens";
            case REPETITION -> "repetition";
            case STOP, TOOL_CALLS, CANCELLED -> null;
        };
        String status =
                reason == FinishReason.CANCELLED ? "cancelled" : incomplete == null ? "completed" : "incomplete";
        return body(status, output, usage, incomplete, null);
    }

    Map<String, @Nullable Object> failed(ApiError error, List<?> output) {
        return body("failed", output, null, null, Json.object("code", error.code(), "message", error.message()));
    }

    private Map<String, @Nullable Object> body(
            String status, List<?> output, @Nullable Usage usage, @Nullable String incomplete, @Nullable Object error) {
        return Json.object(
                "id",
                head.id(),
                "object",
                "response",
                "created_at",
                head.created(),
                "status",
                status,
                "background",
                false,
                "error",
                error,
                "incomplete_details",
                incomplete == null ? null : Json.object("reason", incomplete),
                "instructions",
                request.get("instructions"),
                "max_output_tokens",
                request.get("max_output_tokens"),
                "metadata",
                given("metadata", Json.object()),
                "model",
                head.model(),
                "output",
                output,
                "parallel_tool_calls",
                given("parallel_tool_calls", true),
                "previous_response_id",
                null,
                "reasoning",
                given("reasoning", Json.object("effort", null, "summary", null)),
                "store",
                false,
                "temperature",
                request.get("temperature"),
                "text",
                given("text", Json.object("format", Json.object("type", "text"))),
                "tool_choice",
                given("tool_choice", "auto"),
                "tools",
                given("tools", List.of()),
                "top_p",
                request.get("top_p"),
                "truncation",
                "disabled",
                "usage",
                usage == null ? null : usage(usage),
                "user",
                request.get("user"));
    }

    private Object given(String key, Object otherwise) {
        JsonNode value = request.get(key);
        return value == null ? otherwise : value;
    }

    private static Map<String, @Nullable Object> usage(Usage usage) {
        return Json.object(
                "input_tokens", usage.promptTokens(),
                "input_tokens_details", Json.object("cached_tokens", usage.cachedTokens(), "cache_write_tokens", 0),
                "output_tokens", usage.completionTokens(),
                "output_tokens_details", Json.object("reasoning_tokens", usage.reasoningTokens()),
                "total_tokens", usage.totalTokens());
    }
}
