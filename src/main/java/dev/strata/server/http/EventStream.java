package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpServerCodec;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events. They collect until {@link #flush}; whatever is ready together leaves in one write. Used by one thread at a time; {@link EventPump} sees
 * to it that nothing is written into a full socket.
 */
public final class EventStream {
    private static final byte[] DATA = "data: ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END_OF_EVENT = "\n\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LINE_END = "\r\n".getBytes(StandardCharsets.US_ASCII);

    private final Exchange exchange;
    /** Where chunks of the body enter the pipeline; null when the stream has none (HTTP/1.0). */
    private final @Nullable ChannelHandlerContext codec;

    private final ByteArrayOutputStream pending = new ByteArrayOutputStream(512);

    EventStream(Exchange exchange, boolean chunked) {
        this.exchange = exchange;
        this.codec = chunked ? exchange.channel().pipeline().context(HttpServerCodec.class) : null;
    }

    /** {@code data: JSON}. */
    public void send(Object json) {
        pending.writeBytes(DATA);
        pending.writeBytes(Json.bytes(json));
        pending.writeBytes(END_OF_EVENT);
    }

    /** {@code data: JSON}, the frame with {@code text} in it. */
    public void sendFramed(TextFrame frame, String text) {
        pending.writeBytes(DATA);
        pending.writeBytes(frame.before());
        if (isPlain(text)) {
            text('"' + text + '"');
        } else {
            pending.writeBytes(Json.bytes(text));
        }
        pending.writeBytes(frame.after());
        pending.writeBytes(END_OF_EVENT);
    }

    /** Whether JSON writes every character as it is, in one byte. */
    private static boolean isPlain(String text) {
        for (int i = 0; i < text.length(); i++) {
            char unit = text.charAt(i);
            if (unit < 0x20 || unit > 0x7e || unit == '"' || unit == '\\') {
                return false;
            }
        }
        return true;
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

    int pendingBytes() {
        return pending.size();
    }

    /** Hands what was collected to the socket. */
    public void flush() {
        Channel channel = exchange.channel();
        if (pending.size() == 0) {
            channel.flush();
            return;
        }
        byte[] bytes = pending.toByteArray();
        pending.reset();
        ChannelFuture _ = codec == null
                ? channel.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(bytes)))
                : codec.writeAndFlush(chunk(codec, bytes));
    }

    /** A chunk with its frame in one buffer; the codec would make three, and the socket gather them. */
    private static ByteBuf chunk(ChannelHandlerContext context, byte[] bytes) {
        byte[] size = Integer.toHexString(bytes.length).getBytes(StandardCharsets.US_ASCII);
        return context.alloc()
                .ioBuffer(size.length + bytes.length + 2 * LINE_END.length)
                .writeBytes(size)
                .writeBytes(LINE_END)
                .writeBytes(bytes)
                .writeBytes(LINE_END);
    }

    /** Ends the stream with what was collected. */
    public void end() {
        Channel channel = exchange.channel();
        exchange.end(channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(pending.toByteArray()))));
    }

    private void text(String text) {
        pending.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }
}
