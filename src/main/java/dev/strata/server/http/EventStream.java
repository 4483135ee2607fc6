package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpServerCodec;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events. They collect until {@link #flush}; whatever is ready together leaves in one write. Used by one thread at a time; {@link EventPump} sees
 * to it that nothing is written into a full socket.
 */
public final class EventStream {
    private static final byte[] DATA = "data: ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END_OF_EVENT = "\n\n".getBytes(StandardCharsets.US_ASCII);

    private final Exchange exchange;
    /** Where chunks of the body enter the pipeline; null when the stream has none (HTTP/1.0). */
    private final @Nullable ChannelHandlerContext codec;

    private final PendingBytes pending = new PendingBytes();
    private final LeftBytes left = new LeftBytes();
    /** The answer's head, until it is written. */
    private @Nullable HttpResponse head;

    EventStream(Exchange exchange, HttpResponse head, boolean chunked) {
        this.exchange = exchange;
        this.head = head;
        this.codec = chunked ? exchange.channel().pipeline().context(HttpServerCodec.class) : null;
    }

    /** {@code data: JSON}. */
    public void send(Object json) {
        pending.add(DATA);
        pending.add(Json.bytes(json));
        pending.add(END_OF_EVENT);
    }

    /** The frame with {@code text} in it. */
    public void sendFramed(TextFrame frame, String text) {
        pending.add(frame.before());
        pending.addJson(text);
        pending.add(frame.after());
    }

    /** The frame with {@code number} and {@code text} in it. */
    public void sendFramed(NumberedFrame frame, int number, String text) {
        pending.add(frame.before());
        pending.addNumber(number);
        sendFramed(frame.rest(), text);
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

    /** Whether all that was collected has been handed on. */
    boolean isEmpty() {
        return pending.size() == 0 && left.isEmpty();
    }

    int pendingBytes() {
        return pending.size();
    }

    /** Hands what was collected to the socket. */
    public void flush() {
        write();
        exchange.channel().flush();
    }

    /** Collects in this memory until {@link #giveBack}, to be called when all that was collected has been handed on. */
    void borrow(byte[] memory) {
        pending.borrow(memory);
    }

    void giveBack() {
        pending.giveBack();
    }

    /**
     * Sends what was collected without the event loop. Only when all that was handed to the connection has reached the socket.
     *
     * @return false when bytes are left, which {@link #write} will hand to the connection
     */
    boolean send(DirectSender sender, DirectSocket socket) {
        return pending.size() == 0 || sender.send(socket, pending, left);
    }

    /** Whether chunks are framed here, so that they can be sent without the pipeline. */
    boolean isChunked() {
        return codec != null;
    }

    /** Hands what was collected to the connection, which keeps it until it is flushed. */
    void write() {
        writeHead();
        writeLeft();
        if (pending.size() == 0) {
            return;
        }
        if (codec == null) {
            ChannelFuture _ = exchange.channel().write(new DefaultHttpContent(Unpooled.wrappedBuffer(pending.take())));
        } else {
            // One buffer for the chunk and its frame; the codec would make three, and the socket gather them.
            ByteBuf chunk = codec.alloc().ioBuffer(pending.size() + PendingBytes.FRAME);
            pending.moveAsChunk(chunk);
            ChannelFuture _ = codec.write(chunk, codec.voidPromise());
        }
    }

    private void writeHead() {
        HttpResponse first = head;
        if (first != null) {
            head = null;
            ChannelFuture _ = exchange.channel().write(first);
        }
    }

    private void writeLeft() {
        byte[] rest = left.take();
        if (rest != null && codec != null) {
            ChannelFuture _ = codec.write(codec.alloc().ioBuffer(rest.length).writeBytes(rest), codec.voidPromise());
        }
    }

    /** Ends the stream with what was collected. */
    public void end() {
        writeHead();
        writeLeft();
        exchange.end(new DefaultLastHttpContent(Unpooled.wrappedBuffer(pending.take())));
    }

    private void text(String text) {
        pending.add(text.getBytes(StandardCharsets.UTF_8));
    }
}
