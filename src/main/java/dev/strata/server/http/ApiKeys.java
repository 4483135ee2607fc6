package dev.strata.server.http;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The keys that open the server. Comparing looks at every key's digest, so the time tells nothing about a guess. */
public final class ApiKeys {
    private final List<byte[]> digests;

    public ApiKeys(List<String> keys) {
        digests = keys.stream().map(ApiKeys::digest).toList();
    }

    public boolean required() {
        return !digests.isEmpty();
    }

    /** Number of the key that the request carries, in the order given; -1 when it carries none of them. */
    int find(Exchange exchange) {
        String presented = presented(exchange);
        if (presented == null) {
            return -1;
        }
        byte[] digest = digest(presented);
        int found = -1;
        for (int i = 0; i < digests.size(); i++) {
            if (MessageDigest.isEqual(digests.get(i), digest)) {
                found = i;
            }
        }
        return found;
    }

    private static @Nullable String presented(Exchange exchange) {
        String bearer = exchange.header("authorization");
        if (bearer != null && bearer.regionMatches(true, 0, "Bearer ", 0, 7)) {
            return bearer.substring(7).strip();
        }
        return exchange.header("x-api-key");
    }

    private static byte[] digest(String key) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java runtime has SHA-256", e);
        }
    }
}
