package dev.strata.sampling;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Random;

/** Measures draws from logits of a large vocabulary, peaked and flat. Run its main method. */
public final class SamplerBenchmark {
    private static final int VOCABULARY = 151_936;

    private SamplerBenchmark() {}

    public static void main(String[] arguments) {
        for (int round = 0; round < 4; round++) {
            for (float spread : new float[] {0, 0.1f, 1, 3, 6}) {
                MemorySegment row = row(spread);
                System.out.printf(
                        "round %d spread %.1f: top_p 0.95 %.2f ms, top_k 20 and top_p 0.95 %.2f ms, top_k 40000 %.2f ms, min_p 0.05 %.2f ms, greedy %.2f ms%n",
                        round,
                        spread,
                        millis(row, 1, 0, 0.95f, 0),
                        millis(row, 1, 20, 0.95f, 0),
                        millis(row, 1, 40_000, 1, 0),
                        millis(row, 1, 0, 1, 0.05f),
                        millis(row, 0, 0, 1, 0));
            }
        }
    }

    private static MemorySegment row(float spread) {
        Random random = new Random(4);
        float[] logits = new float[VOCABULARY];
        for (int i = 0; i < VOCABULARY; i++) {
            logits[i] = (float) random.nextGaussian() * spread;
        }
        return Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, logits);
    }

    private static double millis(MemorySegment row, float temperature, int topK, float topP, float minP) {
        SamplingSettings settings = new SamplingSettings(temperature, topK, topP, minP, 0, 0, 1, -1, 7, Map.of());
        Sampler sampler = new Sampler(settings, new SamplerScratch(VOCABULARY), null, -1);
        int draws = 40;
        long start = cpuNanos();
        for (int i = 0; i < draws; i++) {
            sampler.accept(sampler.sample(row, 0));
        }
        return (cpuNanos() - start) / 1e6 / draws;
    }

    /** Time of this thread on a processor, so that other work on the machine does not count. */
    private static long cpuNanos() {
        return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
