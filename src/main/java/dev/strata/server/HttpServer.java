package dev.strata.server;

import dev.strata.api.InferenceService;
import dev.strata.metrics.EngineStatusCollector;
import dev.strata.metrics.ServerMetrics;
import dev.strata.os.OperatingSystem;
import dev.strata.os.Outcome;
import dev.strata.server.http.ActiveRequests;
import dev.strata.server.http.ApiKeys;
import dev.strata.server.http.Connections;
import dev.strata.server.http.Cors;
import dev.strata.server.http.Dispatcher;
import dev.strata.server.http.Generations;
import dev.strata.server.http.HostCheck;
import dev.strata.server.http.Router;
import dev.strata.server.http.ServerChannels;
import dev.strata.server.status.Deadline;
import dev.strata.server.status.LlamaStatus;
import dev.strata.server.status.StatusReport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.ssl.SslContext;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP server over an engine. It may start before the model is loaded, so that /health can tell how far that is. */
public final class HttpServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);
    private static final int MAX_LOOPS = 4;
    private static final int BACKLOG = 1024;
    private static final int LOW_WATER = 32 << 10;
    private static final int HIGH_WATER = 128 << 10;
    private static final Duration AFTER_CANCEL = Duration.ofSeconds(5);

    private final EventLoopGroup loops;
    private final ExecutorService threads;
    private final Connections connections;
    private final Dispatcher dispatcher;
    private final ActiveRequests active;
    private final Channel listening;
    private final String scheme;
    private boolean stopped;

    private HttpServer(
            EventLoopGroup loops,
            ExecutorService threads,
            Connections connections,
            Dispatcher dispatcher,
            ActiveRequests active,
            Channel listening,
            String scheme) {
        this.loops = loops;
        this.threads = threads;
        this.connections = connections;
        this.dispatcher = dispatcher;
        this.active = active;
        this.listening = listening;
        this.scheme = scheme;
    }

    /**
     * Binds and serves.
     *
     * @throws IOException when the address can't be bound or a TLS file can't be read, saying which
     */
    public static HttpServer start(InferenceService service, ServerOptions options) throws IOException {
        return start(service, options, Transport.best());
    }

    /**
     * Finds out at once whether {@link #start} could bind now: it takes a moment itself, and a model takes minutes.
     *
     * @throws IOException when it could not
     */
    public static void requireFree(ServerOptions options) throws IOException {
        try (ServerSocketChannel listening = ServerSocketChannel.open()) {
            listening
                    .setOption(StandardSocketOptions.SO_REUSEADDR, true)
                    .bind(new InetSocketAddress(options.host(), options.port()));
        } catch (IOException | UnresolvedAddressException e) {
            throw refused(options, e);
        }
    }

    static HttpServer start(InferenceService service, ServerOptions options, Transport transport) throws IOException {
        watchBuffers();
        SslContext tls = options.tls() == null ? null : TlsFiles.read(options.tls());
        ExecutorService threads = Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("http-", 0).factory());
        Connections connections = new Connections();
        ActiveRequests active = new ActiveRequests();
        ServerMetrics metrics = metrics(service, connections);
        Router router = new Router(Routes.of(
                new Generations(service, active, metrics),
                active,
                metrics,
                new StatusReport(service, connections::count, active::count, transport.facts(), version()),
                new LlamaStatus(service, version()),
                new Deadline(threads),
                connections::isStopping,
                options));
        Dispatcher dispatcher = new Dispatcher(
                router,
                options.limits(),
                new ApiKeys(options.apiKeys()),
                new HostCheck(options.allowedHosts()),
                new Cors(options.corsOrigins()),
                connections,
                threads,
                metrics);
        int loopThreads = Math.clamp(Runtime.getRuntime().availableProcessors() / 4, 1, MAX_LOOPS);
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(loopThreads, new LoopThreads(), transport.handlers());
        Channel listening = bind(loops, transport, new ServerChannels(dispatcher, connections, tls), options);
        return new HttpServer(
                loops, threads, connections, dispatcher, active, listening, tls == null ? "http" : "https");
    }

    /** Looking for lost buffers costs every token a few percent: tests do it, and whoever sets Netty's property. */
    private static void watchBuffers() {
        if (System.getProperty("io.netty.leakDetection.level") == null) {
            ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        }
    }

    /** Event loops have to be let in at once, also where every core computes. */
    private static final class LoopThreads extends DefaultThreadFactory {
        private static final AtomicBoolean SAID = new AtomicBoolean();

        LoopThreads() {
            super("strata-http");
        }

        @Override
        protected Thread newThread(Runnable loop, String name) {
            return super.newThread(
                    () -> {
                        Outcome outcome = OperatingSystem.current().shortTurns();
                        if (!outcome.done() && SAID.compareAndSet(false, true)) {
                            LOG.info("event loops have no precedence over computing: {}", outcome.reason());
                        }
                        loop.run();
                    },
                    name);
        }
    }

    private static ServerMetrics metrics(InferenceService service, Connections connections) {
        ServerMetrics metrics = new ServerMetrics();
        metrics.gauge("strata_http_connections", "Open connections", connections::count);
        metrics.gauge("strata_requests_running", "Requests the engine works on", service::running);
        metrics.gauge("strata_requests_waiting", "Requests queued", service::waiting);
        metrics.engine(new EngineStatusCollector(service::status));
        return metrics;
    }

    private static Channel bind(
            EventLoopGroup loops, Transport transport, ServerChannels channels, ServerOptions options)
            throws IOException {
        ChannelFuture bound = new ServerBootstrap()
                .group(loops)
                .channel(transport.listening())
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(LOW_WATER, HIGH_WATER))
                .childHandler(channels)
                .bind(options.host(), options.port())
                .awaitUninterruptibly();
        Throwable cause = bound.cause();
        if (cause != null) {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
            throw refused(options, cause);
        }
        return bound.channel();
    }

    private static IOException refused(ServerOptions options, Throwable cause) {
        return new IOException(
                "Can't listen on " + options.host() + ":" + options.port() + " ("
                        + (cause instanceof UnresolvedAddressException ? "no such address" : cause.getMessage())
                        + "): choose another address with --host and --port",
                cause);
    }

    /** The port that was bound. */
    public int port() {
        return ((InetSocketAddress) listening.localAddress()).getPort();
    }

    /** Where the server is, for people. */
    public String address() {
        InetSocketAddress local = (InetSocketAddress) listening.localAddress();
        String host = local.getAddress().isAnyLocalAddress() ? "127.0.0.1" : local.getHostString();
        return scheme + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + local.getPort();
    }

    /**
     * Stops: takes no new connections, lets running answers finish for up to {@code drain}, cancels what is left, closes.
     */
    public synchronized void stop(Duration drain) {
        if (stopped) {
            return;
        }
        stopped = true;
        listening.close().awaitUninterruptibly();
        connections.stop();
        if (!dispatcher.awaitIdle(drain)) {
            LOG.warn("{} answers did not end within {} s and are cancelled", dispatcher.active(), drain.toSeconds());
            active.cancelAll();
            dispatcher.awaitIdle(AFTER_CANCEL);
        }
        connections.closeAll();
        loops.shutdownGracefully(0, 3, TimeUnit.SECONDS).awaitUninterruptibly();
        threads.shutdownNow();
    }

    @Override
    public void close() {
        stop(Duration.ZERO);
    }

    private static String version() {
        @Nullable String version = HttpServer.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }
}
