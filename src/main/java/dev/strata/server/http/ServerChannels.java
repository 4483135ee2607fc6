package dev.strata.server.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.ssl.SslContext;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Builds the pipeline of every accepted connection. */
public final class ServerChannels extends ChannelInitializer<Channel> {
    private static final int MAX_REQUEST_LINE = 8192;
    private static final int MAX_CHUNK = 65536;

    private final Dispatcher dispatcher;
    private final @Nullable SslContext tls;
    private final Connections connections;

    public ServerChannels(Dispatcher dispatcher, Connections connections, @Nullable SslContext tls) {
        this.dispatcher = dispatcher;
        this.connections = connections;
        this.tls = tls;
    }

    @Override
    protected void initChannel(Channel channel) {
        Limits limits = dispatcher.limits();
        if (connections.count() >= limits.connections()) {
            ChannelFuture _ = channel.close();
            return;
        }
        connections.add(channel);
        if (tls != null) {
            var handler = tls.newHandler(channel.alloc());
            handler.setHandshakeTimeout(limits.headerTime().toMillis(), TimeUnit.MILLISECONDS);
            channel.pipeline().addLast(handler);
        }
        RequestClock clock = new RequestClock(limits);
        Connection connection = new Connection(dispatcher, clock);
        channel.pipeline()
                .addLast(
                        clock.bytes(),
                        // Not the two in one, which counts answers: a stream goes to its socket beside the encoder.
                        new HttpRequestDecoder(new HttpDecoderConfig()
                                .setMaxInitialLineLength(MAX_REQUEST_LINE)
                                .setMaxHeaderSize(limits.headerBytes())
                                .setMaxChunkSize(MAX_CHUNK)),
                        new HttpResponseEncoder(),
                        clock.messages(),
                        new BodyAggregator(limits.bodyBytes(), connection::isAnswering),
                        connection);
    }
}
