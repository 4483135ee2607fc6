package dev.strata.server;

import dev.strata.api.FinishReason;
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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures what the server costs for every token: a process of its own serves an engine that does nothing but give a token to each stream once a
 * step, and the processor time of that process's threads is divided by the events that clients saw. {@code ServerOverhead [SECONDS]}; the exit code is 1
 * when a goal is missed.
 */
final class ServerOverhead {
    private static final int TOKENS = 200;

    private ServerOverhead() {}

    /** One number of streams. */
    private record Load(int streams, double stepMillis, double goalMicros) {}

    private static final List<Load> LOADS = List.of(new Load(1, 2, 50), new Load(64, 20, 20));

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 2 && arguments[0].equals("serve")) {
            serve(Double.parseDouble(arguments[1]));
            return;
        }
        double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 10;
        boolean good = true;
        for (Load load : LOADS) {
            good &= measure(load, seconds);
        }
        System.exit(good ? 0 : 1);
    }

    private static boolean measure(Load load, double seconds) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-Xmx512m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ServerOverhead.class.getName(),
                        "serve",
                        Double.toString(load.stepMillis()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            URI address = URI.create("http://127.0.0.1:" + out.readLine());
            StreamLoad.Result warm = StreamLoad.run(address, 64, 2 * seconds, TOKENS);
            long[] before = cpu(process, out);
            // Without /health beside it: fifty of those a second cost as much as the tokens of one stream.
            StreamLoad.Result result = StreamLoad.run(address, load.streams(), seconds, TOKENS, false);
            double[] parts = new double[before.length];
            long[] after = cpu(process, out);
            double micros = 0;
            for (int i = 0; i < parts.length; i++) {
                parts[i] = (after[i] - before[i]) / 1e3 / Math.max(1, result.events());
                micros += parts[i];
            }
            boolean good = micros < load.goalMicros() && result.errors() + warm.errors() == 0;
            System.out.printf(
                    Locale.ROOT,
                    "%s server overhead at %d stream(s): %.1f us of processor time a token (goal %.0f; event loops %.1f, "
                            + "handing over %.1f, other threads %.1f), %s%n",
                    good ? "PASS" : "FAIL",
                    load.streams(),
                    micros,
                    load.goalMicros(),
                    parts[0],
                    parts[1],
                    parts[2],
                    result.summary());
            return good;
        } finally {
            process.destroy();
        }
    }

    /**
     * Processor time in nanoseconds so far: of the event loops, of the engine's thread while it hands tokens over, of all other threads. The engine's clock
     * is not among them, nor the compiler's and collector's threads.
     */
    private static long[] cpu(Process process, BufferedReader out) throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        return Arrays.stream(out.readLine().split(" ")).mapToLong(Long::parseLong).toArray();
    }

    /** Answers every line with the processor time so far. */
    private static void answer(Thread clock, AtomicLong delivering, AtomicBoolean paced) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try {
            while (System.in.read() >= 0) {
                paced.set(true);
                long own = Thread.currentThread().threadId();
                long loops = 0;
                long others = 0;
                for (long id : threads.getAllThreadIds()) {
                    ThreadInfo thread = threads.getThreadInfo(id);
                    long nanos = id == clock.threadId() || id == own || thread == null ? 0 : Math.max(0, threads.getThreadCpuTime(id));
                    if (thread != null && thread.getThreadName().startsWith("strata-http")) {
                        loops += nanos;
                    } else {
                        others += nanos;
                    }
                }
                System.out.println(loops + " " + delivering.get() + " " + others);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** An answer that is being written. */
    private static final class Answer {
        final FakeInferenceService.Output output;
        final CountDownLatch done = new CountDownLatch(1);
        int left = TOKENS;

        Answer(FakeInferenceService.Output output) {
            this.output = output;
        }
    }

    private static void serve(double stepMillis) throws IOException {
        ConcurrentLinkedQueue<Answer> arriving = new ConcurrentLinkedQueue<>();
        TestServer server = TestServer.start(new FakeInferenceService(output -> {
            Answer answer = new Answer(output);
            arriving.add(answer);
            answer.done.await();
        }));
        System.out.println(server.server.port());
        AtomicLong delivering = new AtomicLong();
        // Faster until the first question, so that everything on the way is compiled soon.
        AtomicBoolean paced = new AtomicBoolean();
        Thread clock = Thread.currentThread();
        Thread.ofPlatform().daemon().start(() -> answer(clock, delivering, paced));
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        List<Answer> running = new ArrayList<>();
        while (true) {
            LockSupport.parkNanos(paced.get() ? (long) (stepMillis * 1e6) : 500_000);
            server.engine.requests.clear();
            for (Answer answer = arriving.poll(); answer != null; answer = arriving.poll()) {
                running.add(answer);
            }
            long start = running.isEmpty() ? 0 : threads.getCurrentThreadCpuTime();
            for (Iterator<Answer> each = running.iterator(); each.hasNext(); ) {
                Answer answer = each.next();
                answer.output.content(" token");
                if (--answer.left == 0 || answer.output.isCancelled()) {
                    answer.output.finish(FinishReason.LENGTH);
                    answer.done.countDown();
                    each.remove();
                }
            }
            if (start > 0) {
                delivering.addAndGet(threads.getCurrentThreadCpuTime() - start);
            }
        }
    }
}
