package dev.strata.api;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An error as clients see it.
 *
 * @param code stable word, such as {@code context_length_exceeded}
 * @param parameter the request field at fault, when there is one
 */
public record ApiError(
        Kind kind, String code, String message, @Nullable String parameter) {
    /** Kinds of error, mapped to HTTP status codes in one place. */
    public enum Kind {
        INVALID_REQUEST,
        NOT_FOUND,
        /** The queue is full; try again later. */
        BUSY,
        /** Still loading, stopping, or the engine has died. */
        UNAVAILABLE,
        /** This request failed inside the engine. */
        INTERNAL
    }

    /** The same error with its field called as {@code names} say. */
    public ApiError named(Map<String, String> names) {
        String name = parameter == null ? null : names.get(parameter);
        return name == null ? this : new ApiError(kind, code, message, name);
    }

    public static ApiError invalid(String parameter, String message) {
        return new ApiError(Kind.INVALID_REQUEST, "invalid_value", message, parameter);
    }
}
