package dev.strata.sampling;

/**
 * Log probabilities of one sampled token, from the model's own logits, before penalties, masks and temperature.
 *
 * @param token the token that was sampled
 * @param logprob its log probability
 * @param topTokens the likeliest tokens, best first
 * @param topLogprobs theirs
 */
public record Logprobs(int token, float logprob, int[] topTokens, float[] topLogprobs) {}
