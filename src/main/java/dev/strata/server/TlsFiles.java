package dev.strata.server;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the PEM files of {@code --tls-cert} and {@code --tls-key}. */
final class TlsFiles {
    private TlsFiles() {}

    static SslContext read(ServerOptions.Tls files) throws IOException {
        readable("--tls-cert", files.certificate());
        readable("--tls-key", files.key());
        try {
            return SslContextBuilder.forServer(
                            files.certificate().toFile(), files.key().toFile())
                    .protocols("TLSv1.3", "TLSv1.2")
                    .build();
        } catch (IllegalArgumentException | IOException e) {
            throw new IOException(
                    "Can't use --tls-cert " + files.certificate() + " with --tls-key " + files.key()
                            + ": a PEM certificate chain and its unencrypted PKCS#8 key are needed (" + e.getMessage()
                            + ")",
                    e);
        }
    }

    private static void readable(String flag, Path file) throws IOException {
        if (!Files.isReadable(file)) {
            throw new IOException(flag + ": can't read " + file);
        }
    }
}
