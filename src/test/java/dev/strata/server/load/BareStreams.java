package dev.strata.server.load;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;

/**
 * What streaming costs at least on this machine: no server at all, only a thread that is woken once a step and sends every stream the same bytes. The
 * difference to a server's cost is the server's own.
 */
public final class BareStreams {
    private static final byte[] HEAD =
            ascii("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    /** As long as a chunk of a chat. */
    private static final byte[] EVENT = chunk("data: {" + "\"x\":1,".repeat(36) + "\"y\":1}\n\n");

    private static final byte[] LAST =
            ascii(new String(chunk("data: [DONE]\n\n"), StandardCharsets.US_ASCII) + "0\r\n\r\n");

    private final ServerSocketChannel listening;
    private final int tokens;
    private final ConcurrentLinkedQueue<Stream> arriving = new ConcurrentLinkedQueue<>();
    private final List<Stream> running = new ArrayList<>();
    private final ByteBuffer event = ByteBuffer.allocateDirect(EVENT.length).put(EVENT);

    /** A request that is being answered. */
    private static final class Stream {
        final SocketChannel channel;
        final Semaphore done = new Semaphore(0);
        int left;

        Stream(SocketChannel channel, int left) {
            this.channel = channel;
            this.left = left;
        }
    }

    private BareStreams(ServerSocketChannel listening, int tokens) {
        this.listening = listening;
        this.tokens = tokens;
    }

    /** Listens on a free port and answers every request with so many events, one a step. */
    public static BareStreams start(int tokens) throws IOException {
        ServerSocketChannel listening =
                ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        BareStreams bare = new BareStreams(listening, tokens);
        Thread.ofVirtual().start(bare::accept);
        return bare;
    }

    public int port() {
        return listening.socket().getLocalPort();
    }

    /** One step: every stream gets an event, on the calling thread. */
    public void step() {
        for (Stream stream = arriving.poll(); stream != null; stream = arriving.poll()) {
            running.add(stream);
        }
        for (Iterator<Stream> each = running.iterator(); each.hasNext(); ) {
            Stream stream = each.next();
            if (!write(stream, event.rewind())) {
                each.remove();
                stream.done.release();
            }
        }
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel channel = listening.accept();
                channel.socket().setTcpNoDelay(true);
                Thread.ofVirtual().start(() -> read(channel));
            }
        } catch (IOException e) {
            // The process ends.
        }
    }

    private void read(SocketChannel channel) {
        try (channel) {
            InputStream in = new BufferedInputStream(Channels.newInputStream(channel));
            while (true) {
                // Requests of the load are JSON without braces inside strings.
                int depth = 0;
                do {
                    int next = in.read();
                    if (next < 0) {
                        return;
                    }
                    depth += next == '{' ? 1 : next == '}' ? -1 : 0;
                    if (next == '}' && depth == 0) {
                        break;
                    }
                } while (true);
                Stream stream = new Stream(channel, tokens);
                arriving.add(stream);
                stream.done.acquire();
            }
        } catch (IOException e) {
            // The client has gone.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean write(Stream stream, ByteBuffer event) {
        try {
            if (stream.left == tokens) {
                all(stream.channel, ByteBuffer.wrap(HEAD));
            }
            all(stream.channel, event);
            if (--stream.left == 0) {
                all(stream.channel, ByteBuffer.wrap(LAST));
            }
            return stream.left > 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static void all(SocketChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            if (channel.write(bytes) < 0) {
                throw new IOException("closed");
            }
        }
    }

    private static byte[] chunk(String text) {
        return ascii(Integer.toHexString(text.length()) + "\r\n" + text + "\r\n");
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
