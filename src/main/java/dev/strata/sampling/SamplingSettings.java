package dev.strata.sampling;

import dev.strata.api.SamplingOptions;
import dev.strata.config.SamplingDefaults;
import java.util.Map;

/**
 * Sampling of one answer with every value decided.
 *
 * @param temperature 0: always the likeliest token
 * @param topK keep this many of the likeliest tokens; 0: all
 * @param topP then keep the likeliest tokens that together have this probability
 * @param minP then drop tokens below this share of the likeliest token's probability
 * @param presencePenalty taken from the logit of every token that the answer has
 * @param frequencyPenalty taken once for every time the answer has the token
 * @param repetitionPenalty divides positive and multiplies negative logits of tokens that prompt or answer have
 * @param penaltyWindow tokens that the penalties look back; -1: all
 * @param seed of the random numbers
 * @param logitBias added to the logits of single tokens
 */
public record SamplingSettings(
        float temperature,
        int topK,
        float topP,
        float minP,
        float presencePenalty,
        float frequencyPenalty,
        float repetitionPenalty,
        int penaltyWindow,
        long seed,
        Map<Integer, Float> logitBias) {
    /** The likeliest token every time. */
    public static final SamplingSettings GREEDY = new SamplingSettings(0, 0, 1, 0, 0, 0, 1, -1, 0, Map.of());

    /** What was asked for, the model's defaults for the rest, and {@code freshSeed} when no seed was given. */
    public static SamplingSettings resolve(SamplingOptions asked, SamplingDefaults defaults, long freshSeed) {
        return new SamplingSettings(
                asked.temperature() != null ? asked.temperature() : defaults.temperature(),
                asked.topK() != null ? Math.max(0, asked.topK()) : defaults.topK(),
                asked.topP() != null ? asked.topP() : defaults.topP(),
                asked.minP() != null ? asked.minP() : defaults.minP(),
                asked.presencePenalty() != null ? asked.presencePenalty() : defaults.presencePenalty(),
                asked.frequencyPenalty() != null ? asked.frequencyPenalty() : defaults.frequencyPenalty(),
                asked.repetitionPenalty() != null ? asked.repetitionPenalty() : defaults.repetitionPenalty(),
                asked.penaltyWindow() != null ? asked.penaltyWindow() : defaults.penaltyWindow(),
                asked.seed() != null ? asked.seed() : freshSeed,
                asked.logitBias());
    }

    /** The same with another seed. */
    public SamplingSettings withSeed(long other) {
        return new SamplingSettings(
                temperature,
                topK,
                topP,
                minP,
                presencePenalty,
                frequencyPenalty,
                repetitionPenalty,
                penaltyWindow,
                other,
                logitBias);
    }

    boolean greedy() {
        return temperature <= 0;
    }

    boolean penalises() {
        return penaltyWindow != 0 && (presencePenalty != 0 || frequencyPenalty != 0 || repetitionPenalty != 1);
    }
}
