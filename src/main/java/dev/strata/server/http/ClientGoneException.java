package dev.strata.server.http;

/** Nobody reads the answer any more: the socket was closed, or stayed full for too long. Ends the endpoint's work without an answer. */
public final class ClientGoneException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ClientGoneException(String message) {
        super(message, null, false, false);
    }
}
