package dev.strata.cli;

import dev.strata.config.Options;
import dev.strata.engine.Engine;
import dev.strata.engine.EngineLoader;
import dev.strata.engine.LoadingEngine;
import dev.strata.os.ProcessClock;
import dev.strata.server.HttpServer;
import dev.strata.server.ServerOptions;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A server with its engine, from start to stop. */
final class Serving implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Serving.class);
    /** Exit code when a step has hung: a supervisor should start the process again. */
    private static final int STUCK = 3;
    /** What clients get to hear about it. */
    private static final Duration LAST_WORDS = Duration.ofSeconds(2);

    private final HttpServer server;
    private final LoadingEngine engine;
    private final Duration drain;
    private final CountDownLatch closed = new CountDownLatch(1);

    private Serving(HttpServer server, LoadingEngine engine, Duration drain) {
        this.server = server;
        this.engine = engine;
        this.drain = drain;
    }

    /** Listens and loads the model; meanwhile /health says that it is loading. An address that is in use is told before anything is loaded. */
    static Serving start(Options options, ServerOptions serverOptions, Duration drain) throws IOException {
        HttpServer.requireFree(serverOptions);
        LoadingEngine engine = new LoadingEngine();
        // Both take a while and neither needs the other.
        FutureTask<HttpServer> listening = new FutureTask<>(() -> HttpServer.start(engine, serverOptions));
        Thread.ofPlatform().name("strata-listen").start(listening);
        Engine loaded;
        try {
            loaded = EngineLoader.load(options, Serving::endStuck);
            engine.ready(loaded);
        } catch (RuntimeException | Error failed) {
            closeWhenListening(listening, failed);
            throw failed;
        }
        HttpServer server;
        try {
            server = finished(listening);
        } catch (IOException | RuntimeException failed) {
            engine.close();
            throw failed;
        }
        LOG.info("ready at {}{}", server.address(), sinceStart());
        Thread.ofPlatform()
                .daemon()
                .priority(Thread.MIN_PRIORITY)
                .name("strata-warm-up")
                .start(loaded::warmUp);
        return new Serving(server, engine, drain);
    }

    private static HttpServer finished(FutureTask<HttpServer> listening) throws IOException {
        try {
            return listening.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IllegalStateException("the server could not be started", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the server was being started", e);
        }
    }

    private static void closeWhenListening(FutureTask<HttpServer> listening, Throwable failed) {
        try {
            finished(listening).close();
        } catch (IOException | RuntimeException alsoFailed) {
            failed.addSuppressed(alsoFailed);
        }
    }

    private static String sinceStart() {
        return ProcessClock.sinceStart()
                .map(time -> ", " + time.toMillis() + " ms after the start")
                .orElse("");
    }

    @SuppressWarnings("SystemExitOutsideMain")
    private static void endStuck() {
        Thread.ofPlatform().name("strata-end").start(() -> {
            try {
                Thread.sleep(LAST_WORDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            LOG.error("the process ends with code {} because a step has hung", STUCK);
            // Not exit: hooks would wait for the step that hangs.
            Runtime.getRuntime().halt(STUCK);
        });
    }

    HttpServer server() {
        return server;
    }

    /** Asks one short question over HTTP, so that everything on the way has been used once. */
    void answerOnce() throws IOException, InterruptedException {
        String body = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":8,\"stream\":true}";
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(server.address() + "/v1/chat/completions"))
                    .header("content-type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            LOG.debug("answered once: {}", response.statusCode());
        }
    }

    /** Blocks until {@link #close} has been called by another thread. */
    void await() throws InterruptedException {
        closed.await();
    }

    /** Lets running answers finish, then stops. */
    @Override
    public void close() {
        LOG.info("stopping: running answers get {} s to finish", drain.toSeconds());
        server.stop(drain);
        engine.close();
        LOG.info("stopped");
        closed.countDown();
    }
}
