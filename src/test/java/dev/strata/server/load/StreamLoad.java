package dev.strata.server.load;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Keeps a number of chat streams open against a server for a while, each connection asking again as soon as its answer has ended, and asks /health beside
 * them. {@code StreamLoad URL STREAMS SECONDS [MAX_TOKENS [alone]]}.
 */
public final class StreamLoad {
    /**
     * What was seen.
     *
     * @param events data events of all streams
     * @param firstMillis times to the first data event, sorted
     * @param healthMillis times of /health, sorted
     */
    public record Result(
            int streams,
            double seconds,
            long answers,
            long events,
            long errors,
            double longestGapMillis,
            double[] firstMillis,
            double[] healthMillis) {
        public String summary() {
            return String.format(
                    Locale.ROOT,
                    "%d streams, %.1f s: %d answers, %d events (%.0f/s), %d errors; first event p50 %.1f ms, p99 %.1f ms; "
                            + "longest gap %.0f ms; /health p50 %.1f ms, p99 %.1f ms",
                    streams,
                    seconds,
                    answers,
                    events,
                    events / seconds,
                    errors,
                    percentile(firstMillis, 50),
                    percentile(firstMillis, 99),
                    longestGapMillis,
                    percentile(healthMillis, 50),
                    percentile(healthMillis, 99));
        }

        public static double percentile(double[] sorted, int percent) {
            return sorted.length == 0 ? 0 : sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
        }
    }

    private final String host;
    private final int port;
    private final byte[] request;
    private final LongAdder answers = new LongAdder();
    private final LongAdder events = new LongAdder();
    private final LongAdder errors = new LongAdder();
    private final AtomicLong longestGap = new AtomicLong();
    private final Samples first = new Samples();
    private final Samples health = new Samples();
    private volatile boolean stop;

    private StreamLoad(URI server, int maxTokens) {
        host = server.getHost();
        port = server.getPort();
        request = request(maxTokens);
    }

    /** What every stream asks for, again and again. */
    static byte[] request(int maxTokens) {
        String body =
                "{\"messages\":[{\"role\":\"user\",\"content\":\"Define ocean.\"}],\"stream\":true,\"ignore_eos\":true,\"max_tokens\":"
                        + maxTokens + "}";
        return ("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length() + "\r\n\r\n" + body)
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** Runs the load and asks /health beside it; returns when all streams have ended. */
    public static Result run(URI server, int streams, double seconds, int maxTokens) throws InterruptedException {
        return run(server, streams, seconds, maxTokens, true);
    }

    /**
     * Runs the load; returns when all streams have ended.
     *
     * @param health whether /health is asked beside it
     */
    public static Result run(URI server, int streams, double seconds, int maxTokens, boolean health)
            throws InterruptedException {
        StreamLoad load = new StreamLoad(server, maxTokens);
        CountDownLatch done = new CountDownLatch(streams + 1);
        long start = System.nanoTime();
        for (int i = 0; i < streams; i++) {
            Thread.ofVirtual().start(() -> {
                load.streams();
                done.countDown();
            });
        }
        Thread.ofPlatform().daemon().start(() -> {
            if (health) {
                load.health();
            }
            done.countDown();
        });
        boolean early = done.await((long) (seconds * 1000), TimeUnit.MILLISECONDS);
        load.stop = true;
        if (!early && !done.await(60, TimeUnit.SECONDS)) {
            load.errors.increment();
        }
        return new Result(
                streams,
                (System.nanoTime() - start) / 1e9,
                load.answers.sum(),
                load.events.sum(),
                load.errors.sum(),
                load.longestGap.get() / 1e6,
                load.first.sorted(),
                load.health.sorted());
    }

    private void streams() {
        while (!stop) {
            try (Socket socket = new Socket(host, port)) {
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(60_000);
                InputStream in = new BufferedInputStream(socket.getInputStream(), 16384);
                while (!stop) {
                    answer(socket, in);
                }
            } catch (IOException e) {
                errors.increment();
                return;
            }
        }
    }

    /** One answer: counts its data events up to [DONE]. */
    private void answer(Socket socket, InputStream in) throws IOException {
        long asked = System.nanoTime();
        socket.getOutputStream().write(request);
        long last = 0;
        while (true) {
            String line = line(in);
            if (line.startsWith("HTTP/1.1 ") && !line.startsWith("HTTP/1.1 200")) {
                throw new IOException(line);
            }
            if (line.startsWith("data: {\"error\"")) {
                throw new IOException(line);
            }
            if (line.startsWith("data: ")) {
                long now = System.nanoTime();
                if (line.equals("data: [DONE]")) {
                    answers.increment();
                    readChunkEnd(in);
                    return;
                }
                events.increment();
                if (last == 0) {
                    first.add((now - asked) / 1e6);
                } else {
                    longestGap.accumulateAndGet(now - last, Math::max);
                }
                last = now;
            }
        }
    }

    private static void readChunkEnd(InputStream in) throws IOException {
        while (!line(in).equals("0")) {
            // the rest of the last chunk
        }
        line(in);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder(256);
        while (true) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("The server closed the connection");
            }
            if (next == '\n') {
                int length = line.length();
                return length > 0 && line.charAt(length - 1) == '\r' ? line.substring(0, length - 1) : line.toString();
            }
            line.append((char) next);
        }
    }

    private void health() {
        byte[] ask = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        try (Socket socket = new Socket(host, port)) {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(60_000);
            while (!stop) {
                long asked = System.nanoTime();
                socket.getOutputStream().write(ask);
                int seen = 0;
                while (seen < 2) {
                    int next = socket.getInputStream().read();
                    if (next < 0) {
                        throw new IOException("closed");
                    }
                    seen += next == '"' && seen == 0 ? 1 : next == '}' ? 2 : 0;
                }
                health.add((System.nanoTime() - asked) / 1e6);
                TimeUnit.MILLISECONDS.sleep(20);
            }
        } catch (IOException e) {
            errors.increment();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Measured values. */
    private static final class Samples {
        private double[] values = new double[1024];
        private int count;

        synchronized void add(double value) {
            if (count == values.length) {
                values = Arrays.copyOf(values, 2 * count);
            }
            values[count++] = value;
        }

        synchronized double[] sorted() {
            double[] sorted = Arrays.copyOf(values, count);
            Arrays.sort(sorted);
            return sorted;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Result result = run(
                URI.create(arguments[0]),
                Integer.parseInt(arguments[1]),
                Double.parseDouble(arguments[2]),
                arguments.length > 3 ? Integer.parseInt(arguments[3]) : 64,
                arguments.length < 5);
        System.out.println(result.summary());
        System.exit(result.errors() == 0 ? 0 : 1);
    }
}
