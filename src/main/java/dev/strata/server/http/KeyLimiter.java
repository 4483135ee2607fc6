package dev.strata.server.http;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Bounds what one client has in flight: by key, or by address where there are no keys. */
final class KeyLimiter {
    private final Map<String, Integer> inFlight = new ConcurrentHashMap<>();
    private final int most;

    KeyLimiter(int most) {
        this.most = most;
    }

    /** @throws ApiException BUSY when the client has its share already */
    void enter(String client) {
        int now = inFlight.merge(client, 1, Integer::sum);
        if (now > most) {
            leave(client);
            throw new ApiException(new ApiError(
                    ApiError.Kind.BUSY,
                    "rate_limit_exceeded",
                    "This client already has " + most + " requests in flight, the most it may have",
                    null));
        }
    }

    void leave(String client) {
        inFlight.compute(client, (_, count) -> count == null || count <= 1 ? null : count - 1);
    }
}
