package dev.strata.server.load;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * As {@link StreamLoad}, but nobody waits at the sockets: one thread looks at all of them every few milliseconds. Over loopback a client that waits is woken by
 * the thread that sends, in the server's time; on a network, as here, it costs the server nothing.
 */
public final class PolledLoad {
    private static final long PAUSE_NANOS = 5_000_000;
    private static final long LONGEST_NANOS = 60_000_000_000L;

    private final byte[] request;
    private final ByteBuffer memory = ByteBuffer.allocateDirect(64 << 10);
    private long answers;
    private long events;
    private long errors;
    private boolean stop;

    private PolledLoad(byte[] request) {
        this.request = request;
    }

    /** Runs the load; returns when all streams have ended. */
    public static StreamLoad.Result run(URI server, int streams, double seconds, int maxTokens) throws IOException {
        PolledLoad load = new PolledLoad(StreamLoad.request(maxTokens));
        long start = System.nanoTime();
        load.streams(new InetSocketAddress(server.getHost(), server.getPort()), streams, (long) (seconds * 1e9));
        double took = (System.nanoTime() - start) / 1e9;
        return new StreamLoad.Result(
                streams, took, load.answers, load.events, load.errors, 0, new double[0], new double[0]);
    }

    private void streams(InetSocketAddress server, int count, long nanos) throws IOException {
        List<Stream> open = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            SocketChannel channel = SocketChannel.open(server);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            Stream stream = new Stream(channel);
            stream.ask();
            channel.configureBlocking(false);
            open.add(stream);
        }
        long start = System.nanoTime();
        while (!open.isEmpty()) {
            long passed = System.nanoTime() - start;
            stop = passed >= nanos;
            if (passed >= nanos + LONGEST_NANOS) {
                throw new IOException(open.size() + " streams do not end");
            }
            open.removeIf(Stream::advance);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** One connection, which asks again as soon as its answer has ended. */
    private final class Stream {
        private final SocketChannel channel;
        private final StringBuilder line = new StringBuilder(256);
        /** Whether the last event has come, so that the end of the body is next. */
        private boolean done;

        Stream(SocketChannel channel) {
            this.channel = channel;
        }

        void ask() throws IOException {
            ByteBuffer bytes = ByteBuffer.wrap(request);
            while (bytes.hasRemaining()) {
                if (channel.write(bytes) < 0) {
                    throw new IOException("closed");
                }
            }
        }

        /** Takes what there is; returns whether the stream has ended. */
        boolean advance() {
            try {
                while (channel.read(memory.clear()) > 0) {
                    String more =
                            StandardCharsets.ISO_8859_1.decode(memory.flip()).toString();
                    for (int i = 0; i < more.length(); i++) {
                        if (more.charAt(i) != '\n') {
                            line.append(more.charAt(i));
                        } else if (ends(line.toString().strip())) {
                            channel.close();
                            return true;
                        } else {
                            line.setLength(0);
                        }
                    }
                }
                return false;
            } catch (IOException e) {
                errors++;
                return true;
            }
        }

        private boolean ends(String text) throws IOException {
            if (text.startsWith("HTTP/1.1 ") && !text.startsWith("HTTP/1.1 200")
                    || text.startsWith("data: {\"error\"")) {
                throw new IOException(text);
            }
            if (text.equals("data: [DONE]")) {
                answers++;
                done = true;
            } else if (text.startsWith("data: ")) {
                events++;
            } else if (done && text.equals("0")) {
                done = false;
                if (stop) {
                    return true;
                }
                ask();
            }
            return false;
        }
    }
}
