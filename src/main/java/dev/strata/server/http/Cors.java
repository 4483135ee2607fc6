package dev.strata.server.http;

import java.util.List;

/** Cross-origin access for web pages of the origins asked for; {@code *} stands for all. Off when the list is empty. */
public final class Cors {
    private final List<String> origins;

    public Cors(List<String> origins) {
        this.origins = List.copyOf(origins);
    }

    /** Adds the headers to the answer; true when the request was a preflight that is now answered. */
    boolean apply(Exchange exchange) {
        String origin = exchange.header("origin");
        if (origin == null || !(origins.contains("*") || origins.contains(origin))) {
            return false;
        }
        exchange.responseHeader("access-control-allow-origin", origin);
        exchange.responseHeader("vary", "origin");
        exchange.responseHeader("access-control-expose-headers", "x-request-id, retry-after");
        if (!exchange.method().equals("OPTIONS") || exchange.header("access-control-request-method") == null) {
            return false;
        }
        String headers = exchange.header("access-control-request-headers");
        exchange.responseHeader("access-control-allow-methods", "GET, POST, DELETE, OPTIONS");
        exchange.responseHeader(
                "access-control-allow-headers", headers == null ? "authorization, content-type" : headers);
        exchange.responseHeader("access-control-max-age", "600");
        exchange.reply(204, "", new byte[0]);
        return true;
    }
}
