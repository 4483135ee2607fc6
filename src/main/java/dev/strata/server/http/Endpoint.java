package dev.strata.server.http;

/** Answers one kind of request. Called on a virtual thread of the request's own, so it may block. */
@FunctionalInterface
public interface Endpoint {
    /**
     * Replies on the exchange, or throws {@link dev.strata.api.ApiException} before it did.
     *
     * @throws Exception anything else is a fault of the server: logged, and a 500 for the client
     */
    void answer(Exchange exchange) throws Exception;
}
