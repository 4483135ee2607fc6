package dev.strata.sampling;

/** The model gave logits that are not numbers; the request cannot go on. */
public class LogitsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LogitsException(String message) {
        super(message);
    }
}
