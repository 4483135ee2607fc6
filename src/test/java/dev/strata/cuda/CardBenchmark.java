package dev.strata.cuda;

import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import dev.strata.synth.ModelSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Speed of a made model with every expert on the card: {@code LAYERS EXPERT_TYPE DENSE_TYPE PROMPT CHUNK} for a Qwen3-30B-A3B, for
 * others {@code 0 MODEL - PROMPT CHUNK}, made or from a file. With a chunk of 0 only decode is measured, with {@code strata.prompt.lengths} only prompts of
 * these numbers of tokens, each in one pass.
 */
public final class CardBenchmark {
    private final Model model;
    private final MemorySegment logits;
    private final int[] pages;
    private final Random random = new Random(3);

    private CardBenchmark(Model model, MemorySegment logits) {
        this.model = model;
        this.logits = logits;
        this.pages = IntStream.range(0, model.pages()).toArray();
    }

    public static void main(String[] arguments) {
        int layers = Integer.parseInt(arguments[0]);
        int prompt = Integer.parseInt(arguments[3]);
        boolean decodeOnly = Integer.parseInt(arguments[4]) == 0;
        int chunk = decodeOnly ? 1024 : Integer.parseInt(arguments[4]);
        CudaOptions options = CudaOptions.defaults()
                .withOverlap(!Boolean.getBoolean("strata.no.overlap"))
                .withGraphs(!Boolean.getBoolean("strata.no.graphs"))
                .withForm(DecodeForm.valueOf(System.getProperty("strata.decode.form", "AUTO")))
                .withTensorCores(TensorCores.valueOf(System.getProperty("strata.tensor.cores", "AUTO")));
        try (CudaBackend backend = Cards.open(options);
                ModelFiles files = layers == 0
                        ? ModelSource.open(Path.of(arguments[1]))
                        : new SyntheticFiles(layers, QuantType.valueOf(arguments[1]), QuantType.valueOf(arguments[2]));
                Arena arena = Arena.ofShared()) {
            System.out.println(backend.description());
            long start = System.nanoTime();
            try (Model model = ModelLoader.load(
                    files, backend, new ModelOptions(chunk, prompt / 64 + 40, 2, KvFormat.F16, false))) {
                System.out.printf("loaded in %.1f s%n", (System.nanoTime() - start) / 1e9);
                MemorySegment logits = arena.allocate(4L * model.config().vocabulary() * 64, 64);
                CardBenchmark benchmark = new CardBenchmark(model, logits);
                String lengths = System.getProperty("strata.prompt.lengths", "");
                if (!lengths.isEmpty()) {
                    for (String length : lengths.split(",")) {
                        benchmark.shortPrompt((CudaOps) backend.ops(), Integer.parseInt(length));
                    }
                    return;
                }
                if (!Boolean.getBoolean("strata.prompt.only")) {
                    benchmark.prompt(1024, chunk);
                    benchmark.decode("decode after 1024", 1024, 1);
                    benchmark.decode("decode of 4 rows after 1024", 1024, 4);
                    benchmark.decode("decode of 8 rows after 1024", 1024, 8);
                    long bytes = files instanceof SyntheticFiles made ? made.decodeBytes() : 0;
                    new DecodeParts((CudaOps) backend.ops(), benchmark::step).print(bytes);
                }
                if (decodeOnly) {
                    benchmark.promptTimes((CudaOps) backend.ops(), 0, 5);
                    return;
                }
                benchmark.prompt(Math.min(prompt, 2048), chunk);
                benchmark.prompt(prompt, chunk);
                benchmark.prompt(prompt, chunk);
                benchmark.decode("decode after " + prompt, prompt, 1);
                benchmark.promptTimes((CudaOps) backend.ops(), layers, Math.min(chunk, prompt));
            }
        }
    }

    /** One decode step, with logits or left queued; or waits for all of them. */
    private void step(DecodeParts.Kind kind, int past) {
        switch (kind) {
            case WITH_LOGITS -> pass(past, 1, new int[] {0});
            case QUEUED -> pass(past, 1, new int[0]);
            case WAIT -> model.hidden(1, logits);
        }
    }

    /** Where the time of one chunk goes, and the rates of products and attention. */
    private void promptTimes(CudaOps ops, int layers, int rows) {
        try (KernelTimes times = ops.time()) {
            prompt(rows, rows);
            System.out.println(times.table());
            if (layers == 0) {
                return;
            }
            double each = (double) layers * rows;
            rate("grouped products", each * 8 * 2 * 3 * 2048 * 768, times, "gemm_grouped", "gemm_hopper_grouped");
            rate(
                    "dense products (with the router's)",
                    each * 2 * 2048 * (2 * 4096 + 2 * 512 + 3 * 128),
                    times,
                    "gemm_dense",
                    "gemm_hopper_dense");
            rate("attention", each * rows * 2 * 32 * 128, times, "attention_prompt", "attention_hopper");
        }
        ops.stopTiming();
    }

    private static void rate(String what, double operations, KernelTimes times, String... kernels) {
        double milliseconds = 0;
        for (String kernel : kernels) {
            milliseconds += times.milliseconds(kernel);
        }
        System.out.printf("%s: %.1f ms, %.0f TFLOP/s%n", what, milliseconds, operations / milliseconds / 1e9);
    }

    private void prompt(int length, int chunk) {
        long start = System.nanoTime();
        for (int past = 0; past < length; past += chunk) {
            int rows = Math.min(chunk, length - past);
            pass(past, rows, past + rows == length ? new int[] {rows - 1} : new int[0]);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                "prompt of %d in chunks of %d: %.1f ms, %.0f tok/s%n", length, chunk, 1e3 * seconds, length / seconds);
    }

    /** Median of some passes of {@code length} tokens, and where the time of one goes. */
    private void shortPrompt(CudaOps ops, int length) {
        double[] times = new double[9];
        for (int i = 0; i < times.length; i++) {
            long start = System.nanoTime();
            pass(0, length, new int[] {length - 1});
            times[i] = (System.nanoTime() - start) / 1e6;
        }
        double[] late = Arrays.copyOfRange(times, 2, times.length);
        Arrays.sort(late);
        System.out.printf(
                "prompt of %d: median %.2f ms, best %.2f, %.0f tok/s%n",
                length, late[late.length / 2], late[0], 1e3 * length / late[late.length / 2]);
        try (KernelTimes kernels = ops.time()) {
            pass(0, length, new int[] {length - 1});
            System.out.println(kernels.table());
        }
        ops.stopTiming();
    }

    private void decode(String what, int past, int rows) {
        int[] wanted = IntStream.range(0, rows).toArray();
        double[] times = new double[60];
        for (int i = 0; i < times.length; i++) {
            long start = System.nanoTime();
            pass(past + i * rows, rows, wanted);
            times[i] = (System.nanoTime() - start) / 1e6;
        }
        double[] late = Arrays.copyOfRange(times, 10, times.length);
        Arrays.sort(late);
        System.out.printf(
                "%s: median %.3f ms a step, best %.3f, %.1f steps/s%n",
                what, late[late.length / 2], late[0], 1e3 / late[late.length / 2]);
    }

    private void pass(int past, int rows, int[] wanted) {
        int[] tokens = random.ints(rows, 0, model.config().vocabulary()).toArray();
        model.forward(
                new Batch(tokens, List.of(new Batch.Segment(0, rows, past, pages, 0, new int[0])), false),
                wanted,
                logits);
    }
}
