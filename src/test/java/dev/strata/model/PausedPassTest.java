package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A chunk of a prompt that waits between its layers for steps of another sequence gives the same bits, and so do the steps. */
final class PausedPassTest {
    private static final int CHUNK = 300;
    private static final int STEPS = 20;
    private static final int WINDOW = 3;
    private static final int[] CHUNK_PAGES = {0, 1, 2, 3, 4};
    private static final int[] STEP_PAGES = {5, 6, 7};

    private static int[] tokens(int count, int seed, int vocabulary) {
        int[] tokens = new int[count];
        Arrays.setAll(tokens, i -> Math.floorMod((i + 3) * (31 + seed) + i * i, vocabulary - 1));
        return tokens;
    }

    /** Another sequence, a step at a time: single rows, and windows of which two rows are taken. */
    private static final class Steps {
        private final Model model;
        private final int vocabulary;
        private int[] text;
        private int done;
        final List<float[]> logits = new ArrayList<>();

        Steps(Model model) {
            this.model = model;
            this.vocabulary = model.config().vocabulary();
            this.text = tokens(70, 1, vocabulary);
            model.clearSlot(1);
            logits.add(pass(text, 0, false));
        }

        boolean next() {
            if (done == STEPS) {
                return false;
            }
            boolean hold = done++ % 2 == 0;
            int[] added = tokens(hold ? WINDOW : 1, done, vocabulary);
            int past = text.length;
            text = join(text, added);
            logits.add(pass(added, past, hold));
            if (hold) {
                text = Arrays.copyOf(text, past + 2);
            }
            return true;
        }

        private float[] pass(int[] added, int past, boolean hold) {
            int[] rows = new int[added.length];
            Arrays.setAll(rows, row -> row);
            float[] values = new float[added.length * vocabulary];
            Batch batch = batch(added, past, STEP_PAGES, 1, Arrays.copyOf(text, past), hold);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment out = arena.allocate(4L * values.length, 64);
                model.forward(batch, rows, out);
                MemorySegment.copy(out, ValueLayout.JAVA_FLOAT, 0, values, 0, values.length);
            }
            if (hold) {
                model.commit(batch, 0, 2);
            }
            return values;
        }
    }

    private static int[] join(int[] one, int[] other) {
        int[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }

    private static Batch batch(int[] tokens, int past, int[] pages, int slot, int[] history, boolean hold) {
        return new Batch(tokens, List.of(new Batch.Segment(0, tokens.length, past, pages, slot, history)), hold);
    }

    private static float[] chunk(Model model, BooleanSupplier step) {
        int vocabulary = model.config().vocabulary();
        int[] tokens = tokens(CHUNK, 5, vocabulary);
        model.clearSlot(0);
        float[] values = new float[3 * vocabulary];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(4L * values.length, 64);
            model.forward(
                    batch(tokens, 0, CHUNK_PAGES, 0, new int[0], false),
                    new int[] {0, 1, CHUNK - 1},
                    out,
                    new Model.Pause() {
                        @Override
                        public int mostRows() {
                            return WINDOW;
                        }

                        @Override
                        public boolean due() {
                            return true;
                        }

                        @Override
                        public void run() {
                            boolean _ = step.getAsBoolean();
                        }
                    });
            MemorySegment.copy(out, ValueLayout.JAVA_FLOAT, 0, values, 0, values.length);
        }
        return values;
    }

    @ParameterizedTest
    @CsvSource({
        "qwen3_moe, cpu",
        "qwen3_next, cpu",
        "qwen3_5_moe, cpu",
        "qwen4_exp, cpu",
        "qwen3_next, reference",
        "qwen4_exp, reference"
    })
    void bitsAreTheSame(String name, String where) {
        boolean cpu = where.equals("cpu");
        assumeTrue(!cpu || CpuBackend.isAvailable(), CpuBackend.reason());
        try (ModelFiles files = ModelFileOpener.open(GoldenModels.folder(name));
                Backend backend =
                        cpu ? CpuBackend.create(CpuSettings.standard().withThreads(2)) : ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, new ModelOptions(384, 8, 2, KvFormat.F32, false))) {
            assertTrue(model.pauses(CHUNK));
            assertFalse(model.pauses(WINDOW));
            Steps alone = new Steps(model);
            float[] expected = chunk(model, () -> false);
            while (alone.next()) {
                // one after the other
            }
            Steps between = new Steps(model);
            int[] pauses = new int[1];
            float[] chunk = chunk(model, () -> {
                pauses[0]++;
                return between.next();
            });
            assertEquals(model.config().layers(), pauses[0]);
            while (between.next()) {
                // what the chunk had no layers for
            }
            assertArrayEquals(expected, chunk);
            for (int i = 0; i < alone.logits.size(); i++) {
                assertArrayEquals(alone.logits.get(i), between.logits.get(i), "step " + i);
            }
        }
    }
}
