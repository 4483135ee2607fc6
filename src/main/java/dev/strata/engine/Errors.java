package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.ApiError.Kind;
import dev.strata.api.ApiException;
import dev.strata.grammar.GrammarException;
import dev.strata.sampling.LogitsException;

/** The engine's errors as clients see them. */
final class Errors {
    private Errors() {}

    static ApiError logits(LogitsException error) {
        return new ApiError(Kind.INTERNAL, "bad_logits", String.valueOf(error.getMessage()), null);
    }

    /** The answer's rule went beyond its limits while it was written. */
    static ApiError rule(GrammarException error) {
        return error.toError("response_format");
    }

    static ApiError pass(Throwable error) {
        return new ApiError(
                Kind.INTERNAL, "engine_error", "the engine failed on this request: " + error.getMessage(), null);
    }

    static ApiError dead(String reason) {
        return new ApiError(Kind.UNAVAILABLE, "engine_dead", "the engine has stopped: " + reason, null);
    }

    static ApiError overdue() {
        return new ApiError(Kind.INTERNAL, "timeout", "the request took longer than its time limit", null);
    }

    static ApiException unavailable(String reason) {
        return new ApiException(new ApiError(Kind.UNAVAILABLE, "unavailable", reason, null));
    }

    static ApiException busy(int waiting) {
        return new ApiException(new ApiError(
                Kind.BUSY, "queue_full", waiting + " requests are waiting already; try again later", null));
    }

    static ApiException tooLong(int tokens, int context) {
        return new ApiException(new ApiError(
                Kind.INVALID_REQUEST,
                "context_length_exceeded",
                "the prompt has " + tokens + " tokens; the context holds " + context
                        + ", of which at least one has to be left for the answer",
                "messages"));
    }

    static ApiException invalid(String parameter, String message) {
        return new ApiException(ApiError.invalid(parameter, message));
    }
}
