package dev.strata.api;

/**
 * Where the time went.
 *
 * @param promptTokens prompt tokens that were read (not reused)
 * @param draftTokens speculative tokens offered, and accepted ones of them
 */
public record Timings(
        int cachedTokens,
        int promptTokens,
        double promptMillis,
        int predictedTokens,
        double predictedMillis,
        int draftTokens,
        int acceptedDraftTokens) {
    public double promptPerSecond() {
        return promptMillis > 0 ? promptTokens * 1000.0 / promptMillis : 0;
    }

    public double predictedPerSecond() {
        return predictedMillis > 0 ? predictedTokens * 1000.0 / predictedMillis : 0;
    }
}
