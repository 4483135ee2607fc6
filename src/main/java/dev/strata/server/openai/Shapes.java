package dev.strata.server.openai;

import dev.strata.api.FinishReason;
import dev.strata.api.Timings;
import dev.strata.api.Usage;
import dev.strata.server.http.Json;
import dev.strata.server.http.UsageTotal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON objects that several answers share. */
final class Shapes {
    private Shapes() {}

    static Map<String, @Nullable Object> usage(Usage usage) {
        return Json.object(
                "prompt_tokens", usage.promptTokens(),
                "completion_tokens", usage.completionTokens(),
                "total_tokens", usage.totalTokens(),
                "prompt_tokens_details", Json.object("cached_tokens", usage.cachedTokens()),
                "completion_tokens_details", Json.object("reasoning_tokens", usage.reasoningTokens()));
    }

    /** An answer in one piece, of which {@code start} is the start. */
    static Map<String, @Nullable Object> whole(
            Map<String, @Nullable Object> start, List<Object> choices, UsageTotal usage) {
        start.put("choices", choices);
        start.put("usage", usage(usage.total()));
        Timings timings = usage.timings();
        if (timings != null) {
            start.put("timings", timings(timings));
        }
        return start;
    }

    /** In llama.cpp's shape; its clients show speeds from it. */
    static Map<String, @Nullable Object> timings(Timings timings) {
        Map<String, @Nullable Object> shape = Json.object(
                "cache_n",
                timings.cachedTokens(),
                "prompt_n",
                timings.promptTokens(),
                "prompt_ms",
                timings.promptMillis(),
                "prompt_per_token_ms",
                perToken(timings.promptMillis(), timings.promptTokens()),
                "prompt_per_second",
                timings.promptPerSecond(),
                "predicted_n",
                timings.predictedTokens(),
                "predicted_ms",
                timings.predictedMillis(),
                "predicted_per_token_ms",
                perToken(timings.predictedMillis(), timings.predictedTokens()),
                "predicted_per_second",
                timings.predictedPerSecond());
        if (timings.draftTokens() > 0) {
            shape.put("draft_n", timings.draftTokens());
            shape.put("draft_n_accepted", timings.acceptedDraftTokens());
        }
        return shape;
    }

    /** A cut answer is "length" even when it has tool calls: the last of them may be incomplete. */
    static String finish(FinishReason reason, boolean toolCalls) {
        return switch (reason) {
            case STOP -> toolCalls ? "tool_calls" : "stop";
            case TOOL_CALLS -> "tool_calls";
            case LENGTH -> "length";
            case CANCELLED -> "cancelled";
            case REPETITION -> "repetition";
        };
    }

    private static double perToken(double millis, int tokens) {
        return tokens > 0 ? millis / tokens : 0;
    }
}
