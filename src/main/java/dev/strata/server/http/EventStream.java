package dev.strata.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events. They collect until {@link #flush}; whatever is ready together leaves in one write. Used by one thread at a time; {@link EventPump} sees
 * to it that nothing is written into a full socket.
 */
public final class EventStream {
    private static final byte[] DATA = "data: ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END_OF_EVENT = "\n\n".getBytes(StandardCharsets.US_ASCII);

    private final Exchange exchange;
    /** Where head and chunks enter the pipeline, framed here; null when the body has no chunks (HTTP/1.0). */
    private final @Nullable ChannelHandlerContext codec;

    private final PendingBytes pending = new PendingBytes();
    /** At first the head of an answer in chunks. */
    private final LeftBytes left = new LeftBytes();
    /** The head of any other, until it is written. */
    private @Nullable HttpResponse head;
    /** Whether {@link #left} has the last chunk already. */
    private boolean ended;

    EventStream(Exchange exchange, HttpResponse head, boolean chunked) {
        this.exchange = exchange;
        if (chunked) {
            this.codec = exchange.channel().pipeline().context(HttpResponseEncoder.class);
            left.keep(bytes(head));
        } else {
            this.codec = null;
            this.head = head;
        }
    }

    private static byte[] bytes(HttpResponse head) {
        StringBuilder text = new StringBuilder(320);
        text.append(head.protocolVersion()).append(' ').append(head.status()).append("\r\n");
        for (Map.Entry<String, String> header : head.headers().entries()) {
            text.append(header.getKey()).append(": ").append(header.getValue()).append("\r\n");
        }
        return text.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
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
        return isEmpty() || sender.send(socket, left, pending, false);
    }

    /** As {@link #send}, and ends the stream with it; afterwards nothing may be added, and {@link #end} hands on what is left. */
    boolean sendEnd(DirectSender sender, DirectSocket socket) {
        exchange.ending();
        ended = DirectSender.fits(left, pending);
        return ended && sender.send(socket, left, pending, true);
    }

    /** Whether chunks are framed here, so that they can be sent without the pipeline. */
    boolean isChunked() {
        return codec != null;
    }

    /** Hands what was collected to the connection, which keeps it until it is flushed. */
    void write() {
        if (codec != null) {
            if (!isEmpty()) {
                ChannelFuture _ = codec.write(gathered(codec, false), codec.voidPromise());
            }
            return;
        }
        writeHead();
        if (pending.size() > 0) {
            ChannelFuture _ = exchange.channel().write(new DefaultHttpContent(Unpooled.wrappedBuffer(pending.take())));
        }
    }

    private void writeHead() {
        HttpResponse first = head;
        if (first != null) {
            head = null;
            ChannelFuture _ = exchange.channel().write(first);
        }
    }

    /** All that waits in one buffer with the frames of chunks; the codec would make three of it, and the socket gather them. */
    private ByteBuf gathered(ChannelHandlerContext codec, boolean last) {
        ByteBuf all = codec.alloc()
                .ioBuffer(left.size() + pending.size() + PendingBytes.FRAME + PendingBytes.LAST_CHUNK.length);
        byte[] first = left.take();
        if (first != null) {
            all.writeBytes(first);
        }
        if (pending.size() > 0) {
            pending.moveAsChunk(all);
        }
        return last ? all.writeBytes(PendingBytes.LAST_CHUNK) : all;
    }

    /** Ends the stream with what was collected. */
    public void end() {
        exchange.ending();
        if (codec != null) {
            exchange.end(codec, gathered(codec, !ended));
        } else {
            writeHead();
            exchange.end(exchange.channel(), new DefaultLastHttpContent(Unpooled.wrappedBuffer(pending.take())));
        }
    }

    private void text(String text) {
        pending.add(text.getBytes(StandardCharsets.UTF_8));
    }
}
