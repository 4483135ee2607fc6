package dev.strata.api;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One answer to be generated.
 *
 * @param maxTokens null: up to the end of the context
 * @param stop stop strings, not part of the answer
 * @param topLogprobs -1: no logprobs; 0 to 20: that many alternatives a token
 * @param choices how many answers to give to the one prompt
 * @param progress report {@link Delta.Progress} while the prompt is read
 * @param timeout from acceptance on; null: none
 * @param echo completions: the prompt's own text (and logprobs) comes first
 */
public record GenerateRequest(
        Prompt prompt,
        SamplingOptions sampling,
        OutputFormat format,
        @Nullable Integer maxTokens,
        List<String> stop,
        int topLogprobs,
        int choices,
        boolean ignoreEndToken,
        boolean progress,
        boolean echo,
        @Nullable Duration timeout) {}
