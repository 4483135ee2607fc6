package dev.strata.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A piece of an answer, in order. {@code choice} counts from 0. */
public sealed interface Delta {
    int choice();

    /** Visible text. */
    record Content(int choice, String text, List<TokenLogprob> logprobs) implements Delta {}

    /** Text of the reasoning block. */
    record Reasoning(int choice, String text, List<TokenLogprob> logprobs) implements Delta {}

    /** A tool call begins; {@code index} counts the calls of this answer from 0. */
    record ToolCallStart(int choice, int index, String id, String name) implements Delta {}

    /** More of the arguments' JSON text of call {@code index}. */
    record ToolCallArguments(int choice, int index, String fragment) implements Delta {}

    /** The prompt is being read. */
    record Progress(int choice, int total, int cached, int processed, double millis) implements Delta {}

    /**
     * The answer has ended; nothing follows for this choice.
     *
     * @param stopString the request's stop string that ended it; null when something else did
     */
    record Finished(
            int choice,
            FinishReason reason,
            Usage usage,
            Timings timings,
            @Nullable String stopString) implements Delta {
        public Finished(int choice, FinishReason reason, Usage usage, Timings timings) {
            this(choice, reason, usage, timings, null);
        }
    }

    /** The request failed; nothing follows at all. */
    record Failed(int choice, ApiError error) implements Delta {}
}
