package dev.strata.api;

/** Handle of a running request. */
public interface Generation {
    /** Prompt length in tokens. */
    int promptTokens();

    /** Asks the engine to stop; the request ends with {@link FinishReason#CANCELLED} within one chunk or step. */
    void cancel();
}
