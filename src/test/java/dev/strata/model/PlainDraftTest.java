package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.cuda.Cards;
import dev.strata.cuda.CudaBackend;
import dev.strata.cuda.CudaOptions;
import dev.strata.cuda.Precision;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The draft layer of Qwen3-Next against a model of one layer made of the same tensors, whose embedding table holds what the draft
 * layer's fusion should give for every row. Its logits have to be the drafts.
 */
class PlainDraftTest {
    private static final Path ORIGINAL = GoldenModels.folder("qwen3_next");
    private static final int[] PROMPT = {161, 176, 229, 149, 199, 213, 59};
    private static final int HIDDEN = 64;
    private static final ModelOptions OPTIONS = new ModelOptions(16, 1, 1, KvFormat.F32, true);

    @TempDir
    Path folder;

    private SafetensorsFolder tensors;

    /** The golden model with a draft layer: tensors of its attention layer and random ones. */
    @BeforeEach
    void addDraftLayer() {
        tensors = SafetensorsFolder.read(ORIGINAL);
        for (String name : List.copyOf(tensors.tensors.keySet())) {
            if (name.startsWith("model.layers.3.")) {
                tensors.tensors.put(name.replace("model.layers.3.", "mtp.layers.0."), tensors.tensors.get(name));
            }
        }
        Random random = new Random(7);
        tensors.putBf16("mtp.fc.weight", List.of(64L, 128L), gaussian(random, 64 * 128, 0.15));
        for (String norm : List.of("mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.norm")) {
            tensors.putBf16(norm + ".weight", List.of(64L), gaussian(random, 64, 0.2));
        }
    }

    @Test
    void draftsAreThoseOfAModelOfTheDraftLayerAlone() throws IOException {
        int[] following = Arrays.copyOfRange(PROMPT, 1, PROMPT.length + 1);
        following[PROMPT.length - 1] = 91;
        float[] hidden = new float[PROMPT.length * HIDDEN];
        float[][] drafts;
        DraftedTokens chain = new DraftedTokens();
        try (ModelFiles files = ModelFileOpener.open(tensors.write(folder.resolve("whole"), ORIGINAL));
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, OPTIONS);
                Arena arena = Arena.ofConfined()) {
            assertTrue(model.canDraft());
            new LogitsRunner(model).append(PROMPT, 16);
            MemorySegment states = arena.allocate(4L * hidden.length);
            model.hidden(PROMPT.length, states);
            MemorySegment.copy(states, JAVA_FLOAT, 0, hidden, 0, hidden.length);
            int[] rows = IntStream.range(0, PROMPT.length).toArray();
            MemorySegment logits = arena.allocate(4L * 256 * PROMPT.length);
            model.draft(batch(following, 0), rows, rows, logits);
            drafts = LogitsRunner.split(logits, PROMPT.length, 256);
            model.draftAhead(batch(following, 0), rows, 3, 0, chain);
        }
        float[][] expected = alone(following, hidden);
        for (int i = 0; i < drafts.length; i++) {
            assertArrayEquals(expected[i], drafts[i], 3e-5f, "draft " + i);
        }
        float[] last = drafts[PROMPT.length - 1];
        int token = Logits.argmax(last);
        double sum = 0;
        for (float logit : last) {
            sum += Math.exp(logit - last[token]);
        }
        assertEquals(3, chain.made());
        assertEquals(token, chain.token(0, 0));
        assertEquals(1 / sum, chain.probability(0, 0), 1e-4);
    }

    /** Calls longer than the draft layer's buffers are cut; drafts are the same however the rows before came. */
    @Test
    void longCallsGiveWhatShortOnesGive() throws IOException {
        int rows = DraftLayer.MAX_ROWS + 44;
        int[] prompt = new Random(3).ints(rows + 1, 0, 256).toArray();
        int[] following = Arrays.copyOfRange(prompt, 1, rows + 1);
        int[] wanted = {10, DraftLayer.MAX_ROWS - 1, DraftLayer.MAX_ROWS, rows - 1};
        try (ModelFiles files = ModelFileOpener.open(tensors.write(folder.resolve("long"), ORIGINAL));
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, new ModelOptions(rows, 5, 1, KvFormat.F32, true));
                Arena arena = Arena.ofConfined()) {
            new LogitsRunner(model).append(Arrays.copyOf(prompt, rows), rows);
            MemorySegment logits = arena.allocate(4L * 256 * wanted.length);
            model.draft(batch(following, 0), IntStream.range(0, rows).toArray(), wanted, logits);
            float[][] atOnce = LogitsRunner.split(logits, wanted.length, 256);
            DraftedTokens behindAll = new DraftedTokens();
            model.draftAhead(batch(following, 0), IntStream.range(0, rows).toArray(), 4, 0, behindAll);

            float[][] piecewise = new float[wanted.length][];
            for (int i = 0, from = 0; i < wanted.length; from = wanted[i++] + 1) {
                int[] part = Arrays.copyOfRange(following, from, wanted[i] + 1);
                int[] rowsOfPart = IntStream.range(from, wanted[i] + 1).toArray();
                model.draft(batch(part, from), rowsOfPart, new int[] {part.length - 1}, logits);
                piecewise[i] = LogitsRunner.split(logits, 1, 256)[0];
            }
            assertArrayEquals(piecewise, atOnce);
            DraftedTokens behindFew = new DraftedTokens();
            int[] end = Arrays.copyOfRange(following, rows - 3, rows);
            model.draftAhead(batch(end, rows - 3), new int[] {rows - 3, rows - 2, rows - 1}, 4, 0, behindFew);
            assertEquals(drafts(behindFew), drafts(behindAll));
            assertEquals(Logits.argmax(atOnce[3]), behindAll.token(0, 0));
        }
    }

    /** Two sequences at once get the drafts that each gets alone, and drafting ends when none is likely enough. */
    @Test
    void severalSequencesAreDraftedAtOnce() throws IOException {
        int[] both = new Random(5).ints(14, 0, 256).toArray();
        int[] behind = new Random(6).ints(14, 0, 256).toArray();
        List<String> alone = new ArrayList<>();
        try (ModelFiles files = ModelFileOpener.open(tensors.write(folder.resolve("two"), ORIGINAL));
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, new ModelOptions(16, 4, 2, KvFormat.F32, true))) {
            model.clearSlot(0);
            model.clearSlot(1);
            Batch.Segment first = new Batch.Segment(0, 4, 0, new int[] {0, 1}, 0, new int[0]);
            Batch.Segment second = new Batch.Segment(4, 10, 0, new int[] {2, 3}, 1, new int[0]);
            model.forward(new Batch(both, List.of(first, second), false), new int[0], MemorySegment.NULL);
            DraftedTokens drafted = new DraftedTokens();
            int[] rows = IntStream.range(0, 14).toArray();
            model.draftAhead(new Batch(behind, List.of(first, second), false), rows, 5, 0, drafted);
            String together = drafts(drafted, 0) + drafts(drafted, 1);
            model.draftAhead(
                    new Batch(Arrays.copyOf(behind, 4), List.of(first), false), Arrays.copyOf(rows, 4), 5, 0, drafted);
            alone.add(drafts(drafted, 0));
            Batch.Segment moved = new Batch.Segment(0, 10, 0, new int[] {2, 3}, 1, new int[0]);
            Batch tail = new Batch(Arrays.copyOfRange(behind, 4, 14), List.of(moved), false);
            model.draftAhead(tail, Arrays.copyOfRange(rows, 4, 14), 5, 0, drafted);
            alone.add(drafts(drafted, 0));
            assertEquals(String.join("", alone), together);
            model.draftAhead(tail, Arrays.copyOfRange(rows, 4, 14), 5, 1.01f, drafted);
            assertEquals(1, drafted.made());
            assertThrows(
                    IllegalArgumentException.class,
                    () -> model.draftAhead(tail, rows, DraftedTokens.MOST + 1, 0, drafted));
        }
    }

    /** Drafts that stay on the card from one to the next, issued, captured and replayed, are those of the reference. */
    @Test
    void cardMakesTheSameDrafts() throws IOException {
        int[] text = new Random(5).ints(7, 0, 256).toArray();
        int[] behind = new Random(6).ints(7, 0, 256).toArray();
        List<String> found = new ArrayList<>();
        try (ModelFiles files = ModelFileOpener.open(tensors.write(folder.resolve("card"), ORIGINAL));
                CudaBackend card = Cards.open(CudaOptions.defaults().withPrecision(Precision.F32));
                ReferenceBackend reference = ReferenceBackend.create(1)) {
            for (Backend backend : List.of(reference, card)) {
                try (Model model = ModelLoader.load(files, backend, OPTIONS)) {
                    model.clearSlot(0);
                    model.forward(batch(text, 0), new int[0], MemorySegment.NULL);
                    for (int i = 0; i < 4; i++) {
                        DraftedTokens drafted = new DraftedTokens();
                        model.draftAhead(batch(behind, 0), IntStream.range(0, 7).toArray(), 5, 0, drafted);
                        assertEquals(5, drafted.made());
                        String all = tokens(drafted);
                        int[] end = Arrays.copyOfRange(behind, 4, 7);
                        model.draftAhead(batch(end, 4), new int[] {4, 5, 6}, 3, 0, drafted);
                        found.add(all + tokens(drafted));
                    }
                }
            }
        }
        assertEquals(1, found.stream().distinct().count(), found.toString());
    }

    private static String tokens(DraftedTokens drafted) {
        return IntStream.range(0, drafted.made())
                .mapToObj(i -> drafted.token(0, i))
                .toList()
                .toString();
    }

    private static String drafts(DraftedTokens drafted) {
        return drafts(drafted, 0);
    }

    private static String drafts(DraftedTokens drafted, int segment) {
        return IntStream.range(0, drafted.made())
                .mapToObj(i -> drafted.token(segment, i) + " at " + Math.round(1e3 * drafted.probability(segment, i)))
                .toList()
                .toString();
    }

    /** Logits of a model whose token i is the fused input of row i. */
    private float[][] alone(int[] following, float[] hidden) throws IOException {
        SafetensorsFolder single = new SafetensorsFolder();
        tensors.tensors.forEach((name, tensor) -> {
            if (name.startsWith("mtp.layers.0.")) {
                single.tensors.put(name.replace("mtp.layers.0.", "model.layers.0."), tensor);
            }
        });
        single.tensors.put("lm_head.weight", tensors.tensors.get("lm_head.weight"));
        single.tensors.put("model.norm.weight", tensors.tensors.get("mtp.norm.weight"));
        float[] table = new float[256 * HIDDEN];
        float[] embeddings = tensors.floats("model.embed_tokens.weight");
        float[] matrix = tensors.floats("mtp.fc.weight");
        for (int row = 0; row < following.length; row++) {
            double[] input = new double[2 * HIDDEN];
            norm(embeddings, following[row] * HIDDEN, tensors.floats("mtp.pre_fc_norm_embedding.weight"), input, 0);
            norm(hidden, row * HIDDEN, tensors.floats("mtp.pre_fc_norm_hidden.weight"), input, HIDDEN);
            for (int i = 0; i < HIDDEN; i++) {
                double sum = 0;
                for (int j = 0; j < 2 * HIDDEN; j++) {
                    sum += matrix[i * 2 * HIDDEN + j] * input[j];
                }
                table[row * HIDDEN + i] = (float) sum;
            }
        }
        single.putF32("model.embed_tokens.weight", List.of(256L, 64L), table);
        String config = Files.readString(ORIGINAL.resolve("config.json"))
                .replace("\"num_hidden_layers\": 4", "\"num_hidden_layers\": 1")
                .replaceFirst("(?s)\"layer_types\": \\[.*?\\]", "\"layer_types\": [\"full_attention\"]");
        try (ModelFiles files = ModelFileOpener.open(single.write(folder.resolve("alone"), config));
                ReferenceBackend backend = ReferenceBackend.create(1);
                Model model = ModelLoader.load(files, backend, OPTIONS)) {
            assertFalse(model.canDraft());
            assertThrows(
                    IllegalStateException.class,
                    () -> model.draft(batch(new int[1], 0), new int[1], new int[0], MemorySegment.NULL));
            return new LogitsRunner(model)
                    .append(IntStream.range(0, following.length).toArray(), 16);
        }
    }

    private static void norm(float[] values, int offset, float[] weight, double[] target, int at) {
        double squares = 0;
        for (int i = 0; i < HIDDEN; i++) {
            squares += (double) values[offset + i] * values[offset + i];
        }
        for (int i = 0; i < HIDDEN; i++) {
            target[at + i] = values[offset + i] / Math.sqrt(squares / HIDDEN + 1e-6) * (1 + weight[i]);
        }
    }

    private static Batch batch(int[] tokens, int past) {
        List<Batch.Segment> segments = new ArrayList<>();
        segments.add(new Batch.Segment(0, tokens.length, past, new int[] {0, 1, 2, 3, 4}, 0, new int[0]));
        return new Batch(tokens, segments, false);
    }

    private static float[] gaussian(Random random, int count, double size) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (size * random.nextGaussian());
        }
        return values;
    }
}
