package dev.strata.api;

/** Why an answer ended. */
public enum FinishReason {
    /** End token or stop string. */
    STOP,
    /** max_tokens or the context is used up; also when a tool call was cut by it. */
    LENGTH,
    TOOL_CALLS,
    /** The client went away or cancelled. */
    CANCELLED,
    /** The model repeated one token too often; the answer was ended. */
    REPETITION
}
