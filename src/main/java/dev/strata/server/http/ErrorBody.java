package dev.strata.server.http;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The one place where errors become HTTP: statuses and the JSON bodies of the dialects. */
public final class ErrorBody {
    /** Seconds after which a refused client should try again. */
    public static final int RETRY_AFTER_SECONDS = 2;

    private ErrorBody() {}

    public static int status(ApiException failure) {
        return failure instanceof HttpFailure http ? http.status() : status(failure.error());
    }

    public static int status(ApiError error) {
        return switch (error.kind()) {
            case INVALID_REQUEST -> 400;
            case NOT_FOUND -> 404;
            case BUSY -> 429;
            case UNAVAILABLE -> 503;
            case INTERNAL -> 500;
        };
    }

    /** {@code {"error": {message, type, param, code}}}. */
    public static Map<String, @Nullable Object> openAi(int status, ApiError error) {
        return Json.object(
                "error",
                Json.object(
                        "message", error.message(),
                        "type", openAiType(status),
                        "param", error.parameter(),
                        "code", error.code()));
    }

    /** {@code {"type": "error", "error": {type, message}, "request_id"}}. */
    public static Map<String, @Nullable Object> anthropic(int status, ApiError error, String requestId) {
        String message = error.parameter() == null || error.message().contains(error.parameter())
                ? error.message()
                : error.parameter() + ": " + error.message();
        return Json.object(
                "type",
                "error",
                "error",
                Json.object("type", anthropicType(status), "message", message),
                "request_id",
                requestId);
    }

    /** An unexpected exception, told without its inner details. */
    public static ApiError internal(Throwable cause) {
        return new ApiError(
                ApiError.Kind.INTERNAL,
                "internal_error",
                "The server failed on this request (" + cause.getClass().getSimpleName() + "); its log has the details",
                null);
    }

    private static String openAiType(int status) {
        return switch (status) {
            case 401 -> "authentication_error";
            case 403 -> "permission_error";
            case 429 -> "rate_limit_error";
            case 503 -> "unavailable_error";
            default -> status >= 500 ? "server_error" : "invalid_request_error";
        };
    }

    private static String anthropicType(int status) {
        return switch (status) {
            case 401 -> "authentication_error";
            case 403 -> "permission_error";
            case 404 -> "not_found_error";
            case 413 -> "request_too_large";
            case 429 -> "rate_limit_error";
            case 503 -> "overloaded_error";
            default -> status >= 500 ? "api_error" : "invalid_request_error";
        };
    }
}
