package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.OperatingSystemMXBean;
import dev.strata.api.FinishReason;
import dev.strata.server.load.StreamLoad;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Many streams at once, from an engine that costs nothing, so that what is measured is the server. {@code -Dstrata.load.seconds=60} runs the long form.
 */
final class LoadTest {
    private static final double SECONDS = Double.parseDouble(System.getProperty("strata.load.seconds", "3"));

    /** Tokens of every answer at a steady pace. */
    private static FakeInferenceService paced(int tokens, long nanosPerToken, LongAdder held) {
        return new FakeInferenceService(output -> {
            for (int i = 0; i < tokens && !output.isCancelled(); i++) {
                if (nanosPerToken > 0) {
                    LockSupport.parkNanos(nanosPerToken);
                }
                long start = System.nanoTime();
                output.content(" token");
                held.add(System.nanoTime() - start);
            }
            output.finish(FinishReason.LENGTH);
        });
    }

    private static StreamLoad.Result run(String name, int streams, int tokens, long nanosPerToken) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        LongAdder held = new LongAdder();
        try (TestServer server = TestServer.start(paced(tokens, nanosPerToken, held))) {
            URI address = URI.create("http://127.0.0.1:" + server.server.port());
            StreamLoad.run(address, streams, SECONDS / 3, tokens);
            held.reset();
            long cpu = system.getProcessCpuTime();
            StreamLoad.Result result = StreamLoad.run(address, streams, SECONDS, tokens);
            double micros = (system.getProcessCpuTime() - cpu) / 1e3 / Math.max(1, result.events());
            System.out.printf(
                    Locale.ROOT,
                    "%s: %s; the engine is held for %.1f us per token; %.1f us of CPU per event in all, client and compiler included%n",
                    name,
                    result.summary(),
                    held.sum() / 1e3 / Math.max(1, result.events()),
                    micros);
            return result;
        }
    }

    @Test
    void oneStream() throws Exception {
        StreamLoad.Result result = run("one stream, 1 ms a token", 1, 200, 1_000_000);
        assertEquals(0, result.errors());
        assertTrue(result.answers() > 0);
    }

    @Test
    void sixtyFourStreams() throws Exception {
        StreamLoad.Result result = run("64 streams, 20 ms a token", 64, 50, 20_000_000);
        assertEquals(0, result.errors());
        assertTrue(result.answers() >= 64);
    }

    @Test
    void manyStreamsAsFastAsTheyGo() throws Exception {
        StreamLoad.Result result = run("256 streams, no pause", 256, 100, 0);
        assertEquals(0, result.errors());
        assertTrue(result.answers() >= 256);
    }
}
