package dev.strata.engine;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.Variables;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.Picks;
import dev.strata.model.DraftedTokens;
import dev.strata.model.Model;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Speculation with strata-tiny once everything is warm: what the parts of a turn cost, and the golden conversations with windows of several
 * sizes. Arguments: the folder {@code models/strata-tiny}, and the backend's name, the best one without.
 */
public final class DraftBenchmark {
    private static final int ROUNDS = 12;
    private static final int TIMES = 200;
    /** As served. */
    private static final KvFormat KV = EngineOptions.DEFAULTS.kv();

    private DraftBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        BackendChoice backend = arguments.length > 1
                ? BackendChoice.valueOf(arguments[1].toUpperCase(Locale.ROOT))
                : BackendChoice.AUTO;
        parts(folder, backend);
        double plain = 0;
        for (int window : new int[] {1, 2, 3, 4, 5, 8}) {
            for (float least : window != 5 ? new float[] {0.5f} : new float[] {0.3f, 0.5f, 0.7f}) {
                EngineOptions.Speculation speculation = new EngineOptions.Speculation(window > 1, window, least, 0);
                GoldenRounds.Result result = GoldenRounds.run(
                        folder.resolve("strata-tiny.gguf"),
                        folder.resolve("golden-chat.json"),
                        GoldenRounds.options(backend, KV, speculation),
                        ROUNDS);
                GoldenRounds.Round last = result.bestRound();
                plain = window == 1 ? last.millis() : plain;
                System.out.printf(
                        Locale.ROOT,
                        "--spec %d --spec-min-p %.1f: %.2f tokens a pass, %.1f ms for %d passes (first round %.1f ms), %.0f tok/s, %.2f times as fast%n",
                        window,
                        least,
                        last.tokens() / (double) last.passes(),
                        last.millis(),
                        last.passes(),
                        result.rounds().getFirst().millis(),
                        1e3 * last.tokens() / last.millis(),
                        plain / last.millis());
            }
        }
    }

    /** Microseconds of a pass of every size, of taking over its states, and of the draft layer. */
    private static void parts(Path folder, BackendChoice backend) {
        EngineOptions options = GoldenRounds.options(backend, KV, EngineOptions.Speculation.DEFAULTS);
        try (ModelSession session = ModelSession.open(
                        new Options(folder.resolve("strata-tiny.gguf"), List.of(), options, Variables.defaults()));
                Arena arena = Arena.ofShared()) {
            System.out.println(session.backend().description());
            Model model = session.model();
            MemorySegment settings = arena.allocate(4L * 8 * Picks.SETTINGS, 64);
            for (int row = 0; row < 8; row++) {
                Picks.set(settings, row, 1, -1, false);
            }
            MemorySegment results = arena.allocate(4L * 8 * Picks.COLUMNS, 64);
            MemorySegment logits = arena.allocate(4L * 8 * model.config().vocabulary(), 64);
            int[] pages = SingleText.pages(1024);
            model.clearSlot(0);
            for (int rows : new int[] {1, 2, 3, 5, 8}) {
                for (boolean hold : new boolean[] {false, true}) {
                    Batch one = SingleText.batch(new int[200 + rows], 200, rows, pages);
                    Batch batch = new Batch(one.tokens(), one.segments(), hold);
                    time(
                            "pass of " + rows + (hold ? " held" : "") + " rows",
                            () -> pass(model, batch, settings, results, logits));
                    queued(model, batch, logits);
                    if (hold) {
                        time("the same with its states taken over", () -> {
                            pass(model, batch, settings, results, logits);
                            model.commit(batch, new int[] {Math.max(1, rows - 1)});
                        });
                    }
                }
            }
            DraftedTokens drafted = new DraftedTokens();
            Batch behind = SingleText.batch(new int[203], 200, 3, pages);
            pass(model, behind, settings, results, logits);
            for (int drafts : new int[] {1, 2, 4, 7}) {
                time(
                        drafts + " drafts behind 3 rows",
                        () -> model.draftAhead(behind, new int[] {0, 1, 2}, drafts, 0, drafted));
            }
        }
    }

    private static void pass(
            Model model, Batch batch, MemorySegment settings, MemorySegment results, MemorySegment logits) {
        if (model.picks()) {
            model.forwardPicked(batch, settings.asSlice(0, 4L * batch.rows() * Picks.SETTINGS), results);
        } else {
            int[] rows = new int[batch.rows()];
            Arrays.setAll(rows, row -> row);
            model.forward(batch, rows, logits);
        }
    }

    /** Passes without logits that are handed over without waiting: what the card itself takes. */
    private static void queued(Model model, Batch batch, MemorySegment room) {
        int[] none = {};
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < 20; i++) {
                model.forward(batch, none, room);
            }
            model.hidden(1, room);
            best = Math.min(best, (System.nanoTime() - start) / 20e3);
        }
        System.out.printf(Locale.ROOT, "  queued, without head: best %.1f us%n", best);
    }

    private static void time(String what, Runnable work) {
        double[] micros = new double[TIMES];
        for (int i = 0; i < TIMES; i++) {
            long start = System.nanoTime();
            work.run();
            micros[i] = (System.nanoTime() - start) / 1e3;
        }
        double[] late = Arrays.copyOfRange(micros, TIMES / 4, TIMES);
        Arrays.sort(late);
        System.out.printf(Locale.ROOT, "%s: median %.1f us, best %.1f%n", what, late[late.length / 2], late[0]);
    }
}
