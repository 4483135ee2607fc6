package dev.strata.server;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.server.load.BareStreams;
import dev.strata.server.load.PolledLoad;
import dev.strata.server.load.StreamLoad;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures what the server costs for every token: a process of its own serves an engine that does nothing but give a token to each stream once a
 * step, and the processor time of that process's threads is divided by the events that clients saw. The goal is held against clients that look at their
 * sockets by themselves; a second figure, which is not judged, is that with clients that wait there, whom over loopback the server's own thread wakes. {@code
 * ServerOverhead [SECONDS [STREAMS]]}; the exit code is 1 when a goal is missed or a stream failed.
 */
final class ServerOverhead {
    private static final int TOKENS = 200;
    /** Tokens of the first answers. */
    private static final int BRIEF = 2;

    private ServerOverhead() {}

    /** One number of streams. */
    private record Load(int streams, double stepMillis, double goalMicros) {}

    private static final List<Load> LOADS = List.of(new Load(1, 2, 50), new Load(64, 20, 20));

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 2 && (arguments[0].equals("serve") || arguments[0].equals("bare"))) {
            serve(arguments[0].equals("bare"), Double.parseDouble(arguments[1]));
            return;
        }
        double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 10;
        boolean good = true;
        for (Load load : LOADS) {
            if (arguments.length < 2 || load.streams() == Integer.parseInt(arguments[1])) {
                good &= measure(load, seconds);
            }
        }
        System.exit(good ? 0 : 1);
    }

    private static boolean measure(Load load, double seconds) throws IOException, InterruptedException {
        Costs bare = costs("bare", load, seconds / 2);
        Costs server = costs("serve", load, seconds);
        Cost own = server.own();
        boolean good = own.micros() < load.goalMicros()
                && own.errors() + server.waking().errors() == 0;
        System.out.printf(
                Locale.ROOT,
                "%s server overhead at %d stream(s): %.1f us of processor time a token with clients that poll their sockets (goal %.0f; "
                        + "event loops %.1f, handing over %.1f, other threads %.1f); not judged: %.1f us with clients that wait there and "
                        + "are woken by the server's thread; the engine is held for %.1f us a "
                        + "token, on a card while that computes; a thread that sends as many bytes itself, without any server, costs %.1f "
                        + "and %.1f us; clients that wait: %s%n",
                good ? "PASS" : "FAIL",
                load.streams(),
                own.micros(),
                load.goalMicros(),
                own.loops(),
                own.delivering(),
                own.others(),
                server.waking().micros(),
                own.held(),
                bare.own().loops() + bare.own().delivering(),
                bare.waking().loops() + bare.waking().delivering(),
                server.waking().seen());
        return good;
    }

    /** Microseconds a token: processor time of three groups of threads, and time of the engine's own. */
    private record Cost(double loops, double delivering, double others, double held, long errors, String seen) {
        double micros() {
            return loops + delivering + others;
        }
    }

    /**
     * @param own clients look at their sockets by themselves
     * @param waking clients wait at their sockets, and over loopback the thread that sends wakes them
     */
    private record Costs(Cost own, Cost waking) {}

    private static Costs costs(String mode, Load load, double seconds) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-Xmx512m",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ServerOverhead.class.getName(),
                        mode,
                        Double.toString(load.stepMillis()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            URI address = URI.create("http://127.0.0.1:" + out.readLine());
            // Without /health beside it: fifty of those a second cost as much as the tokens of one stream.
            // A server that has run for a while: short answers first, so that what comes once a request has come often,
            // too.
            long failed = mode.equals("bare")
                    ? 0
                    : StreamLoad.run(address, 64, 2 * seconds, BRIEF, false).errors();
            failed += StreamLoad.run(address, 64, seconds, TOKENS, false).errors();
            if (failed > 0) {
                throw new IOException(failed + " errors while the server ran warm");
            }
            long[] before = cpu(process, out);
            StreamLoad.Result waking = StreamLoad.run(address, load.streams(), seconds, TOKENS, false);
            long[] between = cpu(process, out);
            StreamLoad.Result own = PolledLoad.run(address, load.streams(), seconds, TOKENS);
            long[] after = cpu(process, out);
            return new Costs(cost(between, after, own), cost(before, between, waking));
        } finally {
            process.destroy();
        }
    }

    private static Cost cost(long[] before, long[] after, StreamLoad.Result result) {
        double[] micros = new double[before.length];
        for (int i = 0; i < micros.length; i++) {
            micros[i] = (after[i] - before[i]) / 1e3 / Math.max(1, result.events());
        }
        return new Cost(micros[0], micros[1], micros[2], micros[3], result.errors(), result.summary());
    }

    /**
     * Nanoseconds so far: processor time of the event loops, of the engine's thread while it hands tokens over, of all other threads (but not of the engine's
     * clock, the compiler and the collector), and how long the handing over took.
     */
    private static long[] cpu(Process process, BufferedReader out) throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        return Arrays.stream(out.readLine().split(" "))
                .mapToLong(Long::parseLong)
                .toArray();
    }

    /** Answers every line with the processor time so far. */
    private static void answer(Thread clock, Held held, AtomicBoolean paced) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try {
            while (System.in.read() >= 0) {
                paced.set(true);
                long own = Thread.currentThread().threadId();
                long loops = 0;
                long others = 0;
                for (long id : threads.getAllThreadIds()) {
                    ThreadInfo thread = threads.getThreadInfo(id);
                    boolean counts = id != clock.threadId() && id != own && thread != null;
                    long nanos = counts ? Math.max(0, threads.getThreadCpuTime(id)) : 0;
                    if (thread != null && thread.getThreadName().startsWith("strata-http")) {
                        loops += nanos;
                    } else {
                        others += nanos;
                    }
                }
                System.out.println(loops + " " + held.processor + " " + others + " " + held.elapsed);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** An answer that is being written. */
    private static final class Answer {
        final FakeInferenceService.Output output;
        int left;

        Answer(FakeInferenceService.Output output) {
            this.output = output;
            Integer most = output.request.maxTokens();
            this.left = most == null ? TOKENS : most;
        }
    }

    /** What handing over took so far. */
    private static final class Held {
        volatile long processor;
        volatile long elapsed;
    }

    /** A step, in which the streams that there are now get a token each. */
    private static Runnable fakeEngine() throws IOException {
        ConcurrentLinkedQueue<Answer> arriving = new ConcurrentLinkedQueue<>();
        // Without threads of its own, which would count as the server's.
        TestServer server =
                TestServer.start(new FakeInferenceService(output -> arriving.add(new Answer(output)), Runnable::run));
        System.out.println(server.server.port());
        List<Answer> running = new ArrayList<>();
        return () -> {
            for (Answer answer = arriving.poll(); answer != null; answer = arriving.poll()) {
                server.engine.requests.clear();
                running.add(answer);
            }
            for (Answer answer : running) {
                answer.output.later(new Delta.Content(0, " token", List.of()));
                if (--answer.left == 0) {
                    answer.output.later(new Delta.Finished(
                            0, FinishReason.LENGTH, FakeInferenceService.USAGE, FakeInferenceService.TIMINGS));
                    answer.left = 0;
                }
            }
            for (Iterator<Answer> each = running.iterator(); each.hasNext(); ) {
                Answer answer = each.next();
                answer.output.pause();
                if (answer.left == 0) {
                    each.remove();
                }
            }
        };
    }

    private static Runnable bare() throws IOException {
        BareStreams streams = BareStreams.start(TOKENS);
        System.out.println(streams.port());
        return streams::step;
    }

    private static void serve(boolean bare, double stepMillis) throws IOException {
        Runnable step = bare ? bare() : fakeEngine();
        Held held = new Held();
        // Faster until the first question, so that everything on the way is compiled soon.
        AtomicBoolean paced = new AtomicBoolean();
        Thread clock = Thread.currentThread();
        Thread.ofPlatform().daemon().start(() -> answer(clock, held, paced));
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long processor = 0;
        long elapsed = 0;
        while (true) {
            LockSupport.parkNanos(paced.get() ? (long) (stepMillis * 1e6) : 500_000);
            // Reading this clock takes microseconds itself, as long as one of the two readings before the step apart.
            long before = threads.getCurrentThreadCpuTime();
            long start = threads.getCurrentThreadCpuTime();
            long began = System.nanoTime();
            step.run();
            elapsed += System.nanoTime() - began;
            processor += threads.getCurrentThreadCpuTime() - start - (start - before);
            held.elapsed = elapsed;
            held.processor = processor;
        }
    }
}
