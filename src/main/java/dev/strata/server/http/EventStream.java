package dev.strata.server.http;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Server-sent events with back-pressure. Events collect until {@link #flush}, which waits while the socket is full; whatever is ready together leaves in one
 * write. Used by one virtual thread.
 */
public final class EventStream {
    private static final byte[] DATA = "data: ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END_OF_EVENT = "\n\n".getBytes(StandardCharsets.US_ASCII);

    private final Exchange exchange;
    private final Writability writability;
    private final ByteArrayOutputStream pending = new ByteArrayOutputStream(512);

    EventStream(Exchange exchange, Writability writability) {
        this.exchange = exchange;
        this.writability = writability;
    }

    /** {@code data: JSON}. */
    public void send(Object json) {
        pending.writeBytes(DATA);
        pending.writeBytes(Json.bytes(json));
        pending.writeBytes(END_OF_EVENT);
    }

    /** {@code event: NAME} and {@code data: JSON}. */
    public void send(String event, Object json) {
        text("event: " + event + "\n");
        send(json);
    }

    /** {@code data: TEXT}, one line. */
    public void sendText(String data) {
        text("data: " + data + "\n\n");
    }

    /** A comment: clients skip it, but it shows that the connection lives. */
    public void comment(String words) {
        text(": " + words + "\n\n");
    }

    /** Hands what was collected to the socket. */
    public void flush() {
        if (pending.size() == 0) {
            exchange.channel().flush();
            return;
        }
        Channel channel = exchange.channel();
        awaitRoom(channel);
        ChannelFuture _ = channel.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(pending.toByteArray())));
        pending.reset();
    }

    /** Ends the stream with what was collected. */
    public void end() {
        Channel channel = exchange.channel();
        awaitRoom(channel);
        exchange.end(channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(pending.toByteArray()))));
    }

    private void awaitRoom(Channel channel) {
        if (!writability.await(channel, exchange.limits().slowReader())) {
            exchange.abort();
            throw new ClientGoneException("The client did not read its stream for "
                    + exchange.limits().slowReader().toSeconds() + " s, or closed it");
        }
    }

    private void text(String text) {
        pending.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }
}
