package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.Prompt;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The engine's thread sends to sockets that are closed, reset, filled and used again by others meanwhile. Every client checks every byte that it gets against
 * its own answer, so that none of another stream and none in the wrong place stays unseen.
 */
final class DirectStreamTest {
    private static final int CLIENTS = 24;
    private static final double SECONDS = 0.5;
    /** Requests that are made however long they take. */
    private static final int LEAST = 120;

    /** The seed of an answer that no socket takes at once. */
    private static final int LARGE = 0;

    private static final String TEXTS = "plain words|\"quoted\"\\|\n\t\u0001|\u00e9\u4e16\ud83d\ude00|\ud800 alone| ";

    /** What request {@code seed} is answered with, a list a step. */
    private static List<List<String>> script(int seed) {
        if (seed == LARGE) {
            return IntStream.range(0, 300)
                    .mapToObj(step -> List.of((step + ", ").repeat(2000)))
                    .toList();
        }
        Random random = new Random(seed);
        List<List<String>> steps = new ArrayList<>();
        String[] texts = TEXTS.split("\\|");
        for (int step = 1 + random.nextInt(120); step > 0; step--) {
            List<String> pieces = new ArrayList<>();
            for (int piece = 1 + random.nextInt(random.nextInt(4) + 1); piece > 0; piece--) {
                int size = random.nextInt(100) == 0 ? 1000 : random.nextInt(3);
                pieces.add(seed + "/" + steps.size() + texts[random.nextInt(texts.length)].repeat(size));
            }
            steps.add(pieces);
        }
        return steps;
    }

    /** An answer that is being given. */
    private record Answer(FakeInferenceService.Output output, Iterator<List<String>> steps) {
        boolean step() {
            if (!steps.hasNext() || output.isCancelled()) {
                output.later(new Delta.Finished(
                        0, FinishReason.STOP, FakeInferenceService.USAGE, FakeInferenceService.TIMINGS));
                return false;
            }
            steps.next().forEach(text -> output.later(new Delta.Content(0, text, List.of())));
            return true;
        }
    }

    /** One thread gives all answers, a step of each at a time, as the engine does. */
    private static final class Engine {
        final ConcurrentLinkedQueue<Answer> arriving = new ConcurrentLinkedQueue<>();
        final FakeInferenceService service =
                new FakeInferenceService(output -> arriving.add(answer(output)), Runnable::run);
        private final Thread thread = Thread.ofPlatform().unstarted(this::run);
        private final CountDownLatch given = new CountDownLatch(1);
        private volatile boolean stop;

        private static Answer answer(FakeInferenceService.Output output) {
            String seed = ((Prompt.Chat) output.request.prompt())
                    .messages()
                    .getFirst()
                    .content();
            return new Answer(
                    output, script(Integer.parseInt(String.valueOf(seed))).iterator());
        }

        private void run() {
            List<Answer> running = new ArrayList<>();
            while (!stop) {
                for (Answer answer = arriving.poll(); answer != null; answer = arriving.poll()) {
                    running.add(answer);
                }
                List<Answer> ended =
                        running.stream().filter(answer -> !answer.step()).toList();
                running.forEach(answer -> answer.output().pause());
                running.removeAll(ended);
                if (!ended.isEmpty()) {
                    given.countDown();
                }
                Thread.yield();
            }
        }

        void stop() throws InterruptedException {
            stop = true;
            thread.join();
        }
    }

    /** Asks, reads and leaves until the time is over. */
    private static final class Client {
        private final int port;
        private final Random random;
        private final AtomicInteger seeds;
        int whole;
        int left;

        Client(int port, int number, AtomicInteger seeds) {
            this.port = port;
            this.random = new Random(number);
            this.seeds = seeds;
        }

        void connection() throws IOException {
            try (Socket socket = new Socket()) {
                socket.setSoTimeout(20_000);
                socket.connect(new InetSocketAddress("127.0.0.1", port));
                InputStream in = new BufferedInputStream(socket.getInputStream(), 1 + random.nextInt(2000));
                for (int requests = 1 + random.nextInt(4); requests > 0; requests--) {
                    int seed = seeds.incrementAndGet();
                    boolean last = requests == 1;
                    ask(socket, seed, last);
                    int most = random.nextInt(3) == 0 ? random.nextInt(60) : Integer.MAX_VALUE;
                    if (!read(in, seed, most)) {
                        left++;
                        socket.setSoLinger(random.nextBoolean(), 0);
                        return;
                    }
                    whole++;
                    if (last) {
                        assertEquals(-1, in.read(), "bytes behind the end");
                    }
                }
            }
        }

        private static void ask(Socket socket, int seed, boolean last) throws IOException {
            String body = "{\"messages\":[{\"role\":\"user\",\"content\":\"" + seed + "\"}],\"stream\":true}";
            socket.getOutputStream()
                    .write(("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                                    + (last ? "Connection: close\r\n" : "")
                                    + "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n"
                                    + body)
                            .getBytes(StandardCharsets.US_ASCII));
        }

        /** Checks an answer chunk by chunk; false when it left after {@code most} chunks. */
        private static boolean read(InputStream in, int seed, int most) throws IOException {
            String head = until(in, "\r\n\r\n");
            assertTrue(head.startsWith("HTTP/1.1 200 "), head);
            Iterator<String> expected =
                    script(seed).stream().flatMap(List::stream).iterator();
            Checker checker = new Checker(expected);
            for (int chunks = 0; chunks < most; chunks++) {
                int size = Integer.parseInt(until(in, "\r\n").strip(), 16);
                byte[] chunk = in.readNBytes(size);
                assertEquals("\r\n", new String(in.readNBytes(2), StandardCharsets.US_ASCII));
                if (size == 0) {
                    checker.end();
                    return true;
                }
                checker.add(new String(chunk, StandardCharsets.UTF_8));
            }
            return false;
        }

        private static String until(InputStream in, String mark) throws IOException {
            StringBuilder text = new StringBuilder();
            while (text.length() < mark.length() || text.indexOf(mark, text.length() - mark.length()) < 0) {
                int next = in.read();
                if (next < 0) {
                    throw new IOException("closed after " + text);
                }
                text.append((char) next);
            }
            return text.toString();
        }
    }

    /** Knows which events come. */
    private static final class Checker {
        private final Iterator<String> texts;
        private String before = "";
        private String after = "";
        private int events;
        private boolean done;

        Checker(Iterator<String> texts) {
            this.texts = texts;
        }

        /** A chunk has whole events. */
        void add(String chunk) {
            assertTrue(chunk.endsWith("\n\n"), chunk);
            for (String event : chunk.substring(0, chunk.length() - 2).split("\n\n", -1)) {
                if (!event.startsWith(": ")) {
                    event(event);
                }
            }
        }

        private void event(String event) {
            if (!texts.hasNext()) {
                // The one with the reason, then the end.
                assertTrue(event.equals("data: [DONE]") || event.contains("\"finish_reason\":\"stop\""), event);
                done = event.equals("data: [DONE]");
                return;
            }
            // As Jackson writes it into bytes, with escapes for pairs, and what has no form at all replaced.
            String json = TestServer.MAPPER
                    .valueToTree(texts.next().replace('\ud800', '\ufffd'))
                    .toString()
                    .replace("\ud83d\ude00", "\\uD83D\\uDE00");
            if (events < 2) {
                // The first has the role, the second is what all others look like.
                int at = event.indexOf(json);
                assertTrue(at > 0, () -> event + " has no " + json);
                before = event.substring(0, at);
                after = event.substring(at + json.length());
            }
            assertEquals(before + json + after, event);
            events++;
        }

        void end() {
            assertTrue(done, "the end is missing");
        }
    }

    @Test
    void aFullSocketLosesNothing() throws Exception {
        Engine engine = new Engine();
        try (TestServer server = TestServer.start(engine.service);
                Socket socket = new Socket()) {
            engine.thread.start();
            socket.setReceiveBufferSize(4096);
            socket.setSoTimeout(20_000);
            socket.connect(new InetSocketAddress("127.0.0.1", server.server.port()));
            Client.ask(socket, LARGE, true);
            assertTrue(engine.given.await(20, TimeUnit.SECONDS));
            InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
            assertTrue(Client.read(in, LARGE, Integer.MAX_VALUE));
            assertEquals(-1, in.read());
        } finally {
            engine.stop();
        }
    }

    @Test
    void requestsBehindAStreamAreAnsweredInOrderAndIdleConnectionsClose() throws Exception {
        Engine engine = new Engine();
        try (TestServer server = TestServer.start(
                        engine.service,
                        options -> options.withLimits(
                                options.limits().with(limits -> limits.idleTime = Duration.ofMillis(300))));
                Socket socket = new Socket()) {
            engine.thread.start();
            socket.setSoTimeout(20_000);
            socket.connect(new InetSocketAddress("127.0.0.1", server.server.port()));
            InputStream in = new BufferedInputStream(socket.getInputStream());
            for (int seed = 1; seed < 60; seed += 3) {
                for (int i = 0; i < 3; i++) {
                    Client.ask(socket, seed + i, false);
                }
                for (int i = 0; i < 3; i++) {
                    assertTrue(Client.read(in, seed + i, Integer.MAX_VALUE));
                }
            }
            // Nobody told the event loop that the last answer has ended.
            assertEquals(-1, in.read());
        } finally {
            engine.stop();
        }
    }

    /** With its end an answer is more than is sent at once, so that the event loop sends it, which has a comment for silence due just then. */
    @Test
    void anEndThatIsLeftToTheEventLoopComesOnce() throws Exception {
        String text = "x".repeat(16_000);
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.later(new Delta.Content(0, text, List.of()));
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(
                engine,
                options -> options.withLimits(
                        options.limits().with(limits -> limits.keepAlive = Duration.ofNanos(20_000))))) {
            String request = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"stream\":true}";
            for (int i = 0; i < 20; i++) {
                String events = server.post("/v1/chat/completions", request).body();
                assertEquals(events.indexOf("data: [DONE]"), events.lastIndexOf("data: [DONE]"), events);
            }
        }
    }

    /** @param direct so many streams of a pass are the engine's, the others the event loop's */
    @ParameterizedTest
    @ValueSource(ints = {Integer.MAX_VALUE, 3})
    void everyClientGetsItsOwnBytes(int direct) throws Exception {
        Engine engine = new Engine();
        try (TestServer server = TestServer.start(
                engine.service,
                options -> options.withLimits(options.limits().with(limits -> limits.directStreams = direct)))) {
            engine.thread.start();
            AtomicInteger seeds = new AtomicInteger();
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            List<Client> clients = new ArrayList<>();
            CountDownLatch done = new CountDownLatch(CLIENTS);
            long end = System.nanoTime() + (long) (SECONDS * 1e9);
            for (int i = 0; i < CLIENTS; i++) {
                Client client = new Client(server.server.port(), i, seeds);
                clients.add(client);
                Thread.ofVirtual().start(() -> {
                    try {
                        while ((System.nanoTime() < end || seeds.get() < LEAST) && failures.isEmpty()) {
                            client.connection();
                        }
                    } catch (Throwable e) {
                        failures.add(e);
                    } finally {
                        done.countDown();
                    }
                });
            }
            assertTrue(done.await(30, TimeUnit.SECONDS), "a client hangs");
            for (Throwable failure : failures) {
                throw new AssertionError(failure);
            }
            int whole = clients.stream().mapToInt(client -> client.whole).sum();
            int left = clients.stream().mapToInt(client -> client.left).sum();
            String sends =
                    server.get("/metrics").body().replaceAll("(?s).*\nstrata_direct_sends_total ([^\n]*).*", "$1");
            assertTrue(whole > 10 && left > 10, whole + " read, " + left + " left");
            if (Transport.best().name().equals("epoll")) {
                assertTrue(Double.parseDouble(sends) > 100, sends + " sends for " + whole + " answers");
            }
        } finally {
            engine.stop();
        }
    }
}
