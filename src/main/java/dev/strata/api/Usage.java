package dev.strata.api;

/** Token counts of one request. Cached tokens are part of the prompt tokens; reasoning tokens are part of the completion tokens. */
public record Usage(int promptTokens, int cachedTokens, int completionTokens, int reasoningTokens) {
    public int totalTokens() {
        return promptTokens + completionTokens;
    }
}
