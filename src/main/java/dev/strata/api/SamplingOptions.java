package dev.strata.api;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Sampling as asked for; null means the model's default. Temperature 0 is greedy. */
public record SamplingOptions(
        @Nullable Float temperature,
        @Nullable Integer topK,
        @Nullable Float topP,
        @Nullable Float minP,
        @Nullable Float presencePenalty,
        @Nullable Float frequencyPenalty,
        @Nullable Float repetitionPenalty,
        @Nullable Integer penaltyWindow,
        @Nullable Long seed,
        Map<Integer, Float> logitBias) {
    public static final SamplingOptions DEFAULTS =
            new SamplingOptions(null, null, null, null, null, null, null, null, null, Map.of());
}
