package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import dev.strata.server.ServerOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Flags of the HTTP server. */
final class ServerFlags {
    @Option(names = "--host", paramLabel = "ADDRESS", description = "Address to listen on. Default: 127.0.0.1.")
    private String host = "127.0.0.1";

    @Option(names = "--port", paramLabel = "N", description = "Port to listen on; 0: any free one. Default: 8080.")
    private int port = 8080;

    @Option(names = "--api-key", paramLabel = "KEY", description = "Key that clients have to send; may be repeated.")
    private List<String> apiKeys = List.of();

    @Option(
            names = "--api-key-file",
            paramLabel = "FILE",
            description = "File with one key a line; empty lines and lines that begin with # do not count.")
    private @Nullable Path apiKeyFile;

    @Option(
            names = "--cors-origin",
            paramLabel = "ORIGIN",
            description = "Origin of web pages that may use the server, or *; may be repeated.")
    private List<String> corsOrigins = List.of();

    @Option(
            names = "--allowed-host",
            paramLabel = "NAME",
            description = "Host name that clients may use when no key is set; may be repeated. Default: local names.")
    private List<String> allowedHosts = List.of();

    @Option(names = "--tls-cert", paramLabel = "FILE", description = "Certificate chain for HTTPS, PEM.")
    private @Nullable Path tlsCertificate;

    @Option(names = "--tls-key", paramLabel = "FILE", description = "Private key of the certificate, PEM.")
    private @Nullable Path tlsKey;

    @Option(names = "--no-web", description = "Do not serve the web page.")
    private boolean noWeb;

    @Option(
            names = "--request-timeout",
            paramLabel = "SECONDS",
            description = "Longest time for one answer; 0: no limit. Default: 0.")
    private int requestTimeout;

    @Option(
            names = "--drain-seconds",
            paramLabel = "N",
            description = "Time that running answers get to finish when the server is stopped. Default: 30.")
    private int drainSeconds = 30;

    @Option(
            names = "--slot-save-path",
            paramLabel = "FOLDER",
            description = "Folder where POST /slots/N?action=save writes cached texts and restore reads them.")
    private @Nullable Path slotSavePath;

    @Mixin
    private final LimitFlags limits = new LimitFlags();

    ServerOptions options() {
        Counts.requireBetween("--port", port, 0, 65_535);
        Counts.require("--request-timeout", requestTimeout, 0);
        Counts.require("--drain-seconds", drainSeconds, 0);
        return ServerOptions.of(host, port)
                .withApiKeys(keys())
                .withCorsOrigins(corsOrigins)
                .withAllowedHosts(allowedHosts)
                .withTls(tls())
                .withWebPage(!noWeb)
                .withRequestTimeout(requestTimeout == 0 ? null : Duration.ofSeconds(requestTimeout))
                .withLimits(limits.limits());
    }

    @Nullable
    Path slotFolder() {
        Path folder = slotSavePath;
        if (folder != null && !(Files.isDirectory(folder) && Files.isWritable(folder))) {
            throw new ConfigurationException("--slot-save-path " + folder + " is not a folder that can be written to");
        }
        return folder;
    }

    Duration drain() {
        return Duration.ofSeconds(drainSeconds);
    }

    private List<String> keys() {
        List<String> keys = new ArrayList<>(apiKeys);
        Path file = apiKeyFile;
        if (file != null) {
            try {
                for (String line : IoErrors.lines(file)) {
                    if (!line.isBlank() && !line.startsWith("#")) {
                        keys.add(line.strip());
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException("--api-key-file " + file + " cannot be read", e);
            }
        }
        if (keys.stream().anyMatch(String::isBlank)) {
            throw new ConfigurationException("--api-key cannot be empty");
        }
        return keys;
    }

    private ServerOptions.@Nullable Tls tls() {
        Path certificate = tlsCertificate;
        Path key = tlsKey;
        if (certificate == null && key == null) {
            return null;
        }
        if (certificate == null || key == null) {
            throw new ConfigurationException("--tls-cert and --tls-key have to be given together");
        }
        return new ServerOptions.Tls(certificate, key);
    }
}
