package dev.strata.api;

/** Carries an {@link ApiError} to the place that answers the client. */
public class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient ApiError error;

    public ApiException(ApiError error) {
        super(error.message());
        this.error = error;
    }

    public ApiError error() {
        return error;
    }
}
