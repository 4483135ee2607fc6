package dev.strata.server.http;

import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundInvoker;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request and its answer. The request's bytes are copied, so nothing of the network layer outlives the event loop's call; the answer is either one reply or
 * a stream of events. Used by one virtual thread; only {@link #disconnected} and {@link #onDisconnect} meet across threads.
 */
public final class Exchange {
    private final ChannelHandlerContext context;
    private final Connection connection;
    private final Limits limits;
    private final String method;
    private final QueryStringDecoder target;
    private final HttpVersion version;
    private final HttpHeaders headers;
    private final byte[] body;
    private final DecoderResult decoded;
    /** Whether the client wants the connection to stay open. */
    private final boolean keepAlive;
    /** The way beside the pipeline, if nothing was on its way through it when the request came. */
    private final @Nullable DirectSocket free;

    private final long startNanos = System.nanoTime();
    private final String id = nextId();
    private final HttpHeaders common = new DefaultHttpHeaders();
    private final List<Runnable> disconnectActions = new ArrayList<>();
    private volatile boolean gone;
    private int status;
    /** Whether all of the answer was handed over. */
    private volatile boolean ended;
    /** When all of it was in the socket, sent beside the pipeline, in {@link System#nanoTime}; set before {@link #over}. */
    private long overNanos;

    private volatile boolean over;

    private String note = "";
    private Map<String, String> fieldNames = Map.of();

    Exchange(
            ChannelHandlerContext context,
            Connection connection,
            FullHttpRequest request,
            Limits limits,
            @Nullable DirectSocket free) {
        this.context = context;
        this.connection = connection;
        this.limits = limits;
        this.method = request.method().name();
        this.target = new QueryStringDecoder(request.uri());
        this.version = request.protocolVersion();
        this.headers = request.headers().copy();
        this.body = ByteBufUtil.getBytes(request.content());
        this.decoded = request.decoderResult();
        this.keepAlive = HttpUtil.isKeepAlive(request);
        this.free = free;
        common.set("x-request-id", id);
    }

    /** An id for a request, also for one that is refused before it becomes an exchange. */
    static String nextId() {
        return Ids.next("req-");
    }

    public String id() {
        return id;
    }

    public String method() {
        return method;
    }

    public String path() {
        return target.path();
    }

    /** First value of a query parameter. */
    public @Nullable String query(String name) {
        List<String> values = target.parameters().get(name);
        return values == null ? null : values.getFirst();
    }

    public @Nullable String header(String name) {
        return headers.get(name);
    }

    public byte[] body() {
        return body;
    }

    public Limits limits() {
        return limits;
    }

    DecoderResult decoded() {
        return decoded;
    }

    String clientAddress() {
        return channel().remoteAddress() instanceof InetSocketAddress inet && inet.getAddress() != null
                ? inet.getAddress().getHostAddress()
                : "local";
    }

    /** Nanoseconds since the request was complete. */
    public long elapsedNanos() {
        return System.nanoTime() - startNanos;
    }

    /** Nanoseconds from then to a reading of {@link System#nanoTime}. */
    public long elapsedNanos(long at) {
        return at - startNanos;
    }

    /** Status of the answer; 0 while there is none. */
    int status() {
        return status;
    }

    boolean ended() {
        return ended;
    }

    /** What the request log adds to its line: token counts, never text. */
    public void note(String facts) {
        note = facts;
    }

    String note() {
        return note;
    }

    /** How this endpoint calls the request's fields that errors of the engine name: by those names its own. */
    public void fieldNames(Map<String, String> names) {
        fieldNames = names;
    }

    Map<String, String> fieldNames() {
        return fieldNames;
    }

    /** A header that the answer will carry, whatever it is. */
    public void responseHeader(String name, String value) {
        common.set(name, value);
    }

    public void reply(int code, Object json) {
        reply(code, "application/json", Json.bytes(json));
    }

    public void reply(int code, String contentType, byte[] content) {
        begin(code);
        boolean head = method.equals("HEAD");
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                HttpResponseStatus.valueOf(code),
                head ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(content));
        response.headers().set(common);
        if (!contentType.isEmpty()) {
            response.headers().set(HttpHeaderNames.CONTENT_TYPE, contentType);
        }
        if (code != 204 && code != 304) {
            response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, content.length);
        }
        ending();
        end(channel(), response);
    }

    /** Starts a stream of events; its head leaves with the first of them. */
    public EventStream startEvents() {
        if (!version.isKeepAliveDefault()) {
            // HTTP/1.0 knows no chunks: the stream ends with the connection.
            responseHeader("connection", "close");
        }
        begin(200);
        HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        response.headers()
                .set(common)
                .set(HttpHeaderNames.CONTENT_TYPE, "text/event-stream; charset=utf-8")
                .set(HttpHeaderNames.CACHE_CONTROL, "no-cache")
                .set("x-accel-buffering", "no");
        if (version.isKeepAliveDefault()) {
            HttpUtil.setTransferEncodingChunked(response, true);
        }
        return new EventStream(this, response, version.isKeepAliveDefault());
    }

    /** Another way to the client, beside the pipeline, which nothing takes before the first byte of this answer; null where there is none so far. */
    @Nullable
    DirectSocket freeSocket() {
        return free;
    }

    /** The same for when nothing is on its way through the pipeline; null where there is none. Called on the event loop. */
    @Nullable
    DirectSocket directSocket() {
        return connection.directSocket(context);
    }

    /** Calls {@code action} on the event loop whenever the socket takes bytes again. */
    void onWritable(Runnable action) {
        connection.onWritable(action);
    }

    /** Runs the action when the client disconnects before the answer has ended; at once when it has already. */
    public void onDisconnect(Runnable action) {
        synchronized (disconnectActions) {
            if (!gone) {
                disconnectActions.add(action);
                return;
            }
        }
        action.run();
    }

    public boolean isDisconnected() {
        return gone;
    }

    void disconnected() {
        if (ended) {
            // Nothing is left to be told: a client may close as soon as it has what it asked for.
            return;
        }
        List<Runnable> actions;
        synchronized (disconnectActions) {
            gone = true;
            actions = List.copyOf(disconnectActions);
            disconnectActions.clear();
        }
        actions.forEach(Runnable::run);
    }

    Channel channel() {
        return context.channel();
    }

    /** What is sent next is the end: from now on it is no loss when the client goes. */
    void ending() {
        ended = true;
    }

    /**
     * Sends the rest through the pipeline.
     *
     * @param last what the answer ends with, or all of it
     */
    void end(ChannelOutboundInvoker way, Object last) {
        way.writeAndFlush(last).addListener(_ -> connection.answered(context));
    }

    /** The end has been sent beside the pipeline. */
    void sentAside() {
        overNanos = System.nanoTime();
        over = true;
        connection.sentAside(context, closes());
    }

    /** Whether {@link #sentAside} was called: nothing more comes of this exchange. */
    boolean isOver() {
        return over;
    }

    /** Since then; 0 for an answer that ended in the pipeline just now. */
    long nanosSinceOver() {
        return over ? System.nanoTime() - overNanos : 0;
    }

    /** Whether the connection closes behind the answer. */
    boolean closes() {
        return !keepAlive || common.contains(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true);
    }

    /** Closes the connection in the middle of an answer. */
    void abort() {
        ChannelFuture _ = channel().close();
    }

    private void begin(int code) {
        if (status != 0) {
            throw new IllegalStateException("This request already has an answer: " + status);
        }
        status = code;
        if (closes()) {
            common.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        }
    }
}
