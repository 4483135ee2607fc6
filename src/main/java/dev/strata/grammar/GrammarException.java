package dev.strata.grammar;

import dev.strata.api.ApiError;

/** A schema or grammar that cannot be followed. The message names the keyword, or the place in the grammar. */
public final class GrammarException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public GrammarException(String message) {
        super(message);
    }

    /** As the client is told whose {@code parameter} it was. */
    public ApiError toError(String parameter) {
        return ApiError.invalid(parameter, "The answer cannot be constrained: " + getMessage());
    }
}
