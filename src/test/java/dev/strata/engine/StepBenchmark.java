package dev.strata.engine;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import dev.strata.device.Picks;
import dev.strata.model.Model;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * What the host adds to a decode step: steps that wait for their token before the next one is handed over, steps begun ahead, and passes handed
 * over without asking for anything. Argument: a model, such as {@code synth:qwen3-30b-a3b:q4_0}.
 */
public final class StepBenchmark {
    private static final int PROMPT = 1024;
    private static final int STEPS = 200;

    private final Model model;
    private final int[] pages = SingleText.pages(PROMPT + STEPS + 1);
    private final int[] text = new int[PROMPT + STEPS + 1];
    private final MemorySegment results = MemorySegment.ofArray(new float[Picks.COLUMNS]);
    private final MemorySegment hidden;

    private StepBenchmark(Model model) {
        this.model = model;
        hidden = MemorySegment.ofArray(new float[model.config().hidden()]);
    }

    public static void main(String[] arguments) {
        EngineOptions options = new EngineOptions(
                BackendChoice.CUDA,
                0,
                KvFormat.F16,
                PROMPT + STEPS + 1,
                1,
                PROMPT,
                16,
                0,
                2048,
                0,
                EngineOptions.Speculation.OFF,
                false);
        try (ModelSession session =
                ModelSession.open(new Options(Path.of(arguments[0]), List.of(), options, Variables.defaults()))) {
            System.out.println(session.backend().description());
            StepBenchmark benchmark = new StepBenchmark(session.model());
            for (int round = 0; round < 3; round++) {
                benchmark.time("steps that wait", benchmark::waiting);
                benchmark.time("steps begun ahead", session.model().foresees() ? benchmark::ahead : benchmark::waiting);
                benchmark.time("passes without results", benchmark::queued);
            }
        }
    }

    private void time(String what, Runnable steps) {
        model.clearSlot(0);
        model.forward(SingleText.batch(text, 0, PROMPT, pages), new int[0], MemorySegment.NULL);
        model.promptFinished();
        model.hidden(1, hidden);
        long start = System.nanoTime();
        steps.run();
        System.out.printf(Locale.ROOT, "%s: %.4f ms a step%n", what, (System.nanoTime() - start) / 1e6 / STEPS);
    }

    private void waiting() {
        for (int step = 0; step < STEPS; step++) {
            model.forwardPicked(SingleText.batch(text, PROMPT + step, 1, pages), SingleText.LIKELIEST, results);
        }
    }

    private void ahead() {
        model.beginPicked(SingleText.batch(text, PROMPT, 1, pages), SingleText.LIKELIEST, false);
        for (int step = 1; step < STEPS; step++) {
            model.beginPicked(SingleText.batch(text, PROMPT + step, 1, pages), SingleText.LIKELIEST, true);
            model.endPicked(1, results);
        }
        model.endPicked(1, results);
    }

    private void queued() {
        for (int step = 0; step < STEPS; step++) {
            model.forward(SingleText.batch(text, PROMPT + step, 1, pages), new int[0], MemorySegment.NULL);
        }
        model.hidden(1, hidden);
    }
}
