package dev.strata.server.http;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.metrics.ServerMetrics;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Takes every request to its endpoint on a virtual thread: checks, routing, errors and the log line. */
public final class Dispatcher {
    private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);
    private static final Logger REQUESTS = LoggerFactory.getLogger("strata.requests");
    private static final int CLIENT_GONE = 499;

    private final Router router;
    private final Limits limits;
    private final ApiKeys keys;
    private final HostCheck hosts;
    private final Cors cors;
    private final KeyLimiter limiter;
    private final ExecutorService threads;
    private final ServerMetrics metrics;
    private final Set<Exchange> active = ConcurrentHashMap.newKeySet();
    private final ReentrantLock idleLock = new ReentrantLock();
    private final Condition idle = idleLock.newCondition();
    private final Connections connections;

    public Dispatcher(
            Router router,
            Limits limits,
            ApiKeys keys,
            HostCheck hosts,
            Cors cors,
            Connections connections,
            ExecutorService threads,
            ServerMetrics metrics) {
        this.router = router;
        this.limits = limits;
        this.keys = keys;
        this.hosts = hosts;
        this.cors = cors;
        this.limiter = new KeyLimiter(limits.requestsPerKey());
        this.connections = connections;
        this.threads = threads;
        this.metrics = metrics;
    }

    Limits limits() {
        return limits;
    }

    boolean isStopping() {
        return connections.isStopping();
    }

    /** Requests whose answers have not ended. */
    public int active() {
        return active.size();
    }

    /** Waits until no answer is being made; false when some still are after that time. */
    public boolean awaitIdle(Duration longest) {
        long nanos = longest.toNanos();
        idleLock.lock();
        try {
            while (!active.isEmpty() && nanos > 0) {
                nanos = idle.awaitNanos(nanos);
            }
            return active.isEmpty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return active.isEmpty();
        } finally {
            idleLock.unlock();
        }
    }

    /** Called on the event loop. */
    void dispatch(Exchange exchange) {
        active.add(exchange);
        if (router.isImmediate(exchange.path())) {
            run(exchange);
        } else {
            threads.execute(() -> run(exchange));
        }
    }

    private void run(Exchange exchange) {
        String route = "other";
        try {
            if (connections.isStopping()) {
                exchange.responseHeader("connection", "close");
            }
            Route found = admit(exchange);
            if (found != null) {
                route = found.path();
                answer(exchange, found);
            }
        } catch (ApiException e) {
            fail(exchange, e, e.error());
        } catch (ClientGoneException e) {
            LOG.debug("{} {}", exchange.id(), e.getMessage());
        } catch (Exception | Error e) {
            LOG.error("{} {} {} failed", exchange.id(), exchange.method(), exchange.path(), e);
            fail(exchange, null, ErrorBody.internal(e));
        } finally {
            finish(exchange, route);
        }
    }

    /** All checks before an endpoint is asked; null when the request is answered already. */
    private @Nullable Route admit(Exchange exchange) {
        checkDecoded(exchange);
        if (!keys.required() && !hosts.permits(exchange.header("host"))) {
            throw new HttpFailure(
                    403,
                    "host_not_allowed",
                    "Host '" + exchange.header("host")
                            + "' is not served: use an address or localhost, name it with --allowed-host, or set an --api-key");
        }
        if (cors.apply(exchange)) {
            return null;
        }
        Route route = router.find(exchange);
        if (!route.open() && keys.required() && keys.find(exchange) < 0) {
            exchange.responseHeader("www-authenticate", "Bearer");
            throw new HttpFailure(
                    401,
                    "invalid_api_key",
                    "This server needs an API key: send 'Authorization: Bearer KEY' or 'x-api-key: KEY'");
        }
        if (route.json()) {
            checkJson(exchange);
        }
        return route;
    }

    private void answer(Exchange exchange, Route route) throws Exception {
        if (!route.json()) {
            route.endpoint().answer(exchange);
            return;
        }
        int key = keys.find(exchange);
        String client = key >= 0 ? "key " + key : exchange.clientAddress();
        limiter.enter(client);
        try {
            route.endpoint().answer(exchange);
        } finally {
            limiter.leave(client);
        }
    }

    private static void checkDecoded(Exchange exchange) {
        Throwable cause = exchange.decoded().cause();
        if (cause == null) {
            return;
        }
        exchange.responseHeader("connection", "close");
        throw switch (cause) {
            case TooLongHttpLineException _ -> new HttpFailure(414, "uri_too_long", "The request line is too long");
            case TooLongHttpHeaderException _ ->
                new HttpFailure(431, "headers_too_large", "The request's headers are too large");
            default -> new HttpFailure(400, "invalid_http", "This is not a valid HTTP request");
        };
    }

    /** Only JSON is taken: a web page can send anything else across origins without asking first. */
    private static void checkJson(Exchange exchange) {
        String encoding = exchange.header("content-encoding");
        if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw new HttpFailure(415, "unsupported_encoding", "Request bodies must not be compressed: " + encoding);
        }
        String type = exchange.header("content-type");
        if (type == null && exchange.header("origin") == null) {
            return;
        }
        String media = type == null ? "" : type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
        if (!media.equals("application/json") && !media.endsWith("+json")) {
            throw new HttpFailure(
                    415,
                    "unsupported_media_type",
                    "The body must be sent with 'Content-Type: application/json', not '" + media + "'");
        }
    }

    private void fail(Exchange exchange, @Nullable ApiException failure, ApiError error) {
        if (exchange.status() != 0) {
            // Part of an answer is out; the only honest end left is a closed connection.
            exchange.abort();
            return;
        }
        int status = failure == null ? ErrorBody.status(error) : ErrorBody.status(failure);
        if (status == 429 || status == 503) {
            exchange.responseHeader("retry-after", Integer.toString(ErrorBody.RETRY_AFTER_SECONDS));
        }
        ApiError named = error.named(exchange.fieldNames());
        boolean anthropic = router.dialect(exchange.path()) == Route.Dialect.ANTHROPIC;
        exchange.reply(
                status,
                anthropic ? ErrorBody.anthropic(status, named, exchange.id()) : ErrorBody.openAi(status, named));
    }

    private void finish(Exchange exchange, String route) {
        if (!exchange.ended()) {
            exchange.abort();
        }
        active.remove(exchange);
        if (active.isEmpty()) {
            signalIdle();
        }
        int status = exchange.isDisconnected() || exchange.status() == 0 ? CLIENT_GONE : exchange.status();
        double seconds = exchange.elapsedNanos() / 1e9;
        metrics.request(exchange.method(), route, status, seconds);
        // Supervisors and the page ask every second; what they ask is of no interest unless it fails.
        Level level = exchange.method().equals("GET") && status != 500 ? Level.DEBUG : Level.INFO;
        REQUESTS.atLevel(level)
                .log(
                        "{} {} {} {} {} ms{}",
                        exchange.clientAddress(),
                        exchange.method(),
                        printable(exchange.path()),
                        status,
                        Math.round(seconds * 1000),
                        exchange.note());
    }

    private void signalIdle() {
        idleLock.lock();
        try {
            idle.signalAll();
        } finally {
            idleLock.unlock();
        }
    }

    /** Paths come from outside: no control characters in the log. */
    private static String printable(String path) {
        StringBuilder shown = new StringBuilder(path);
        if (shown.length() > 200) {
            shown.setLength(200);
            shown.append("...");
        }
        for (int i = 0; i < shown.length(); i++) {
            if (shown.charAt(i) < 0x21 || shown.charAt(i) > 0x7e) {
                shown.setCharAt(i, '?');
            }
        }
        return shown.toString();
    }
}
