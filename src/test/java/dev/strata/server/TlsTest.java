package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** HTTPS with PEM files. */
final class TlsTest {
    private static Path resource(String name) throws Exception {
        return Path.of(TlsTest.class.getResource(name).toURI());
    }

    private static SSLContext trusting(Path certificate) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (InputStream in = Files.newInputStream(certificate)) {
            Certificate trusted = CertificateFactory.getInstance("X.509").generateCertificate(in);
            store.setCertificateEntry("server", trusted);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    @Test
    void streamsOverTls() throws Exception {
        ServerOptions options = ServerOptions.of("127.0.0.1", 0)
                .withTls(new ServerOptions.Tls(resource("test-cert.pem"), resource("test-key.pem")));
        try (HttpServer server = HttpServer.start(FakeInferenceService.hello(), options);
                HttpClient client = HttpClient.newBuilder()
                        .sslContext(trusting(resource("test-cert.pem")))
                        .build()) {
            assertTrue(server.address().startsWith("https://127.0.0.1:"));
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(URI.create(server.address() + "/v1/chat/completions"))
                            .header("content-type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString(
                                    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertEquals(200, response.statusCode());
            assertTrue(response.body().endsWith("data: [DONE]\n\n"));
        }
    }

    @Test
    void badFilesAreNamed(@TempDir Path folder) throws Exception {
        Path empty = Files.createFile(folder.resolve("empty.pem"));
        Path missing = folder.resolve("missing.pem");
        for (Path wrong : new Path[] {empty, missing}) {
            IOException refused = assertThrows(
                    IOException.class,
                    () -> HttpServer.start(
                            FakeInferenceService.hello(),
                            ServerOptions.of("127.0.0.1", 0)
                                    .withTls(new ServerOptions.Tls(wrong, resource("test-key.pem")))));
            assertTrue(String.valueOf(refused.getMessage()).contains(wrong.toString()), refused.getMessage());
        }
    }
}
