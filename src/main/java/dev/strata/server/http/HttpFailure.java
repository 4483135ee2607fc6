package dev.strata.server.http;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;

/** An error of HTTP's own, with a status that no {@link ApiError.Kind} stands for. */
public final class HttpFailure extends ApiException {
    private static final long serialVersionUID = 1L;

    private final int status;

    public HttpFailure(int status, String code, String message) {
        super(new ApiError(ApiError.Kind.INVALID_REQUEST, code, message, null));
        this.status = status;
    }

    public int status() {
        return status;
    }
}
