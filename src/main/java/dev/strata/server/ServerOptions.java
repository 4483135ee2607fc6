package dev.strata.server;

import dev.strata.server.http.Limits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How the server is reached and by whom.
 *
 * @param host address to bind
 * @param port 0: any free one
 * @param apiKeys empty: none is needed, and Host is checked
 * @param corsOrigins origins of web pages that may use the server; {@code *} for all
 * @param allowedHosts names that may stand in Host when there are no keys, beside localhost and addresses
 * @param tls null: plain HTTP
 * @param webPage whether the chat and monitor page is served at /
 * @param requestTimeout longest time for one answer; null: no limit
 */
public record ServerOptions(
        String host,
        int port,
        List<String> apiKeys,
        List<String> corsOrigins,
        List<String> allowedHosts,
        @Nullable Tls tls,
        boolean webPage,
        @Nullable Duration requestTimeout,
        Limits limits) {
    /** PEM files of a certificate chain and its private key. */
    public record Tls(Path certificate, Path key) {}

    public static ServerOptions of(String host, int port) {
        return new ServerOptions(host, port, List.of(), List.of(), List.of(), null, true, null, Limits.DEFAULTS);
    }

    public ServerOptions withApiKeys(List<String> keys) {
        return new ServerOptions(host, port, keys, corsOrigins, allowedHosts, tls, webPage, requestTimeout, limits);
    }

    public ServerOptions withCorsOrigins(List<String> origins) {
        return new ServerOptions(host, port, apiKeys, origins, allowedHosts, tls, webPage, requestTimeout, limits);
    }

    public ServerOptions withAllowedHosts(List<String> hosts) {
        return new ServerOptions(host, port, apiKeys, corsOrigins, hosts, tls, webPage, requestTimeout, limits);
    }

    public ServerOptions withTls(@Nullable Tls files) {
        return new ServerOptions(
                host, port, apiKeys, corsOrigins, allowedHosts, files, webPage, requestTimeout, limits);
    }

    public ServerOptions withWebPage(boolean served) {
        return new ServerOptions(host, port, apiKeys, corsOrigins, allowedHosts, tls, served, requestTimeout, limits);
    }

    public ServerOptions withRequestTimeout(@Nullable Duration longest) {
        return new ServerOptions(host, port, apiKeys, corsOrigins, allowedHosts, tls, webPage, longest, limits);
    }

    public ServerOptions withLimits(Limits other) {
        return new ServerOptions(host, port, apiKeys, corsOrigins, allowedHosts, tls, webPage, requestTimeout, other);
    }
}
