package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.cuda.Cards;
import dev.strata.cuda.CudaBackend;
import dev.strata.cuda.CudaOptions;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.Picks;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Passes that are begun before the one that chooses their tokens has ended. */
class StepsAheadTest {
    private static final int STEPS = 6;
    private static final ModelOptions OPTIONS = new ModelOptions(16, 4, 2, KvFormat.F32, false);

    @ParameterizedTest
    @ValueSource(strings = {"qwen3_moe", "qwen3_next"})
    void textsAreThoseOfPassesThatWait(String family) throws IOException {
        try (ModelFiles files = ModelFileOpener.open(GoldenModels.folder(family));
                CudaBackend card = Cards.open(CudaOptions.defaults());
                Model model = ModelLoader.load(files, card, OPTIONS)) {
            assertTrue(model.foresees());
            List<Integer> waiting = write(model, false);
            assertEquals(waiting, write(model, true));
            assertThrows(IllegalStateException.class, () -> model.endPicked(1, results()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = "qwen3_next")
    void hostsHaveNothingToForesee(String family) throws IOException {
        try (ModelFiles files = ModelFileOpener.open(GoldenModels.folder(family));
                ReferenceBackend reference = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, reference, OPTIONS)) {
            assertFalse(model.foresees());
        }
    }

    /** Two texts at once: one takes the likeliest tokens, the other draws. */
    private static List<Integer> write(Model model, boolean ahead) {
        List<Integer> text = new ArrayList<>();
        MemorySegment results = results();
        Picks picks = new Picks(results);
        int[] tokens = {3, 5};
        model.clearSlot(0);
        model.clearSlot(1);
        if (ahead) {
            model.beginPicked(batch(tokens, 0), settings(0), false);
        }
        for (int step = 0; step < STEPS; step++) {
            if (!ahead) {
                model.forwardPicked(batch(tokens, step), settings(step), results);
            } else {
                if (step + 1 < STEPS) {
                    model.beginPicked(batch(new int[2], step + 1), settings(step + 1), true);
                }
                model.endPicked(2, results);
            }
            tokens[0] = picks.likeliest(0);
            tokens[1] = picks.drawn(1);
            text.add(tokens[0]);
            text.add(tokens[1]);
        }
        return text;
    }

    private static Batch batch(int[] tokens, int past) {
        return new Batch(
                tokens.clone(),
                List.of(
                        new Batch.Segment(0, 1, past, new int[] {0, 1}, 0, new int[0]),
                        new Batch.Segment(1, 1, past, new int[] {2, 3}, 1, new int[0])),
                false);
    }

    private static MemorySegment settings(int step) {
        return MemorySegment.ofArray(new float[] {1, -1, 0, 0.8f, 0.07f + 0.13f * step, 0});
    }

    private static MemorySegment results() {
        return MemorySegment.ofArray(new float[2 * Picks.COLUMNS]);
    }
}
