package dev.strata.engine;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.device.Likeliest;
import dev.strata.model.Model;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/** Reads made prompts into the first slot of a model and goes on greedily. */
final class PromptReader {
    /** Tokens of an answer. */
    static final int GREEDY = 32;

    private final Model model;
    private final int chunk;
    private final MemorySegment logits;

    /** @param logits room for one row */
    PromptReader(Model model, int chunk, MemorySegment logits) {
        this.model = model;
        this.chunk = chunk;
        this.logits = logits;
    }

    /** Reads a fresh prompt up to its first token's logits; returns tokens a second. */
    double read(int length, int seed) {
        int[] text = text(length, seed);
        int[] pages = pages(length);
        model.clearSlot(0);
        long start = System.nanoTime();
        model.request(text, Math.min(chunk, length));
        model.expect(text, 0, length);
        for (int past = 0; past < length; past += chunk) {
            int rows = Math.min(chunk, length - past);
            int[] wanted = past + rows == length ? new int[] {rows - 1} : new int[0];
            forward(text, past, rows, pages, wanted);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        model.promptFinished();
        return length / seconds;
    }

    /**
     * What a prompt was answered with, in deterministic mode the same whatever memory its experts passed through.
     *
     * @param logits hash of the bits of the first token's logits
     * @param tokens hash of the greedy tokens
     */
    record Answer(int logits, int tokens) {
        /** Both in hexadecimal digits. */
        String text() {
            return String.format(Locale.ROOT, "%08x-%08x", logits, tokens);
        }
    }

    /** Goes on greedily for {@code count} tokens, at most {@link #GREEDY}, behind the prompt that was read last. */
    Answer greedy(int length, int seed, int count) {
        int[] text = Arrays.copyOf(text(length, seed), length + GREEDY + 1);
        int[] pages = pages(length);
        int firstLogits = hashOfLogits();
        int tokens = 1;
        for (int i = 0; i < count; i++) {
            int best = Likeliest.of(logits.toArray(JAVA_FLOAT));
            tokens = 31 * tokens + best;
            text[length + i] = best;
            forward(text, length + i, 1, pages, new int[] {0});
        }
        return new Answer(firstLogits, tokens);
    }

    private int hashOfLogits() {
        int hash = 1;
        for (int token = 0; token < model.config().vocabulary(); token++) {
            hash = 31 * hash + Float.floatToIntBits(logits.getAtIndex(JAVA_FLOAT, token));
        }
        return hash;
    }

    private static int[] pages(int length) {
        return SingleText.pages(length + 2 * GREEDY);
    }

    private void forward(int[] text, int past, int rows, int[] pages, int[] wanted) {
        model.forward(SingleText.batch(text, past, rows, pages), wanted, logits);
    }

    private int[] text(int length, int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] text = new int[length];
        Arrays.setAll(text, i -> random.nextInt(model.config().vocabulary()));
        return text;
    }
}
