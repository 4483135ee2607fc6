package dev.strata.cli;

import dev.strata.server.http.Limits;
import java.time.Duration;
import picocli.CommandLine.Option;

/** Flags of what one client may cost. */
final class LimitFlags {
    private static final Limits STANDARD = Limits.DEFAULTS;

    @Option(
            names = "--max-request-mib",
            paramLabel = "N",
            description = "Largest request body; 413 beyond it. Default: 32.")
    private int requestMib = STANDARD.bodyBytes() >> 20;

    @Option(
            names = "--max-header-kib",
            paramLabel = "N",
            description = "All header lines of a request together; 431 beyond it. Default: 32.")
    private int headerKib = STANDARD.headerBytes() >> 10;

    @Option(
            names = "--header-timeout",
            paramLabel = "SECONDS",
            description = "From a request's first byte to the end of its headers. Default: 15.")
    private int headerSeconds = (int) STANDARD.headerTime().toSeconds();

    @Option(
            names = "--body-timeout",
            paramLabel = "SECONDS",
            description = "Longest silence while a body is received. Default: 30.")
    private int bodySeconds = (int) STANDARD.bodyTime().toSeconds();

    @Option(
            names = "--idle-timeout",
            paramLabel = "SECONDS",
            description = "Time that a connection may stay open without a request. Default: 120.")
    private int idleSeconds = (int) STANDARD.idleTime().toSeconds();

    @Option(
            names = "--slow-reader-timeout",
            paramLabel = "SECONDS",
            description = "Time that a client may leave a stream unread. Default: 30.")
    private int slowReaderSeconds = (int) STANDARD.slowReader().toSeconds();

    @Option(
            names = "--max-connections",
            paramLabel = "N",
            description = "Open connections; further ones are closed at once. Default: 4096.")
    private int connections = STANDARD.connections();

    @Option(
            names = "--max-per-key",
            paramLabel = "N",
            description = "Requests that one key (without keys: one address) may have in flight; 429 beyond it."
                    + " Default: 1024.")
    private int perKey = STANDARD.requestsPerKey();

    Limits limits() {
        Counts.requireBetween("--max-request-mib", requestMib, 1, 1024);
        Counts.requireBetween("--max-header-kib", headerKib, 1, 1024);
        Counts.require("--header-timeout", headerSeconds, 1);
        Counts.require("--body-timeout", bodySeconds, 1);
        Counts.require("--idle-timeout", idleSeconds, 1);
        Counts.require("--slow-reader-timeout", slowReaderSeconds, 1);
        Counts.require("--max-connections", connections, 1);
        Counts.require("--max-per-key", perKey, 1);
        return STANDARD.with(limits -> {
            limits.bodyBytes = requestMib << 20;
            limits.headerBytes = headerKib << 10;
            limits.headerTime = Duration.ofSeconds(headerSeconds);
            limits.bodyTime = Duration.ofSeconds(bodySeconds);
            limits.idleTime = Duration.ofSeconds(idleSeconds);
            limits.slowReader = Duration.ofSeconds(slowReaderSeconds);
            limits.connections = connections;
            limits.requestsPerKey = perKey;
        });
    }
}
