package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.device.Batch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Feeds one sequence to a model and gives the logits of every token, without scheduling or sampling. It uses slot 0 and the first
 * pages, so nothing else may use the model at the same time.
 */
public final class LogitsRunner {
    private final Model model;
    private final int[] pages;
    private int[] tokens = {};

    public LogitsRunner(Model model) {
        this.model = model;
        this.pages = IntStream.range(0, model.pages()).toArray();
        restart();
    }

    /** Forgets the sequence. */
    public void restart() {
        tokens = new int[0];
        model.clearSlot(0);
    }

    /** Appends {@code added}, at most {@code chunk} tokens a pass, and gives the logits of every one: [added.length][vocabulary]. */
    public float[][] append(int[] added, int chunk) {
        float[][] logits = new float[added.length][];
        for (int from = 0; from < added.length; from += chunk) {
            int[] part = Arrays.copyOfRange(added, from, Math.min(added.length, from + chunk));
            System.arraycopy(pass(part), 0, logits, from, part.length);
            tokens = concatenate(tokens, part);
        }
        return logits;
    }

    /** The pass of {@code added} tokens after the sequence. */
    private Batch batch(int[] added) {
        return new Batch(added, List.of(new Batch.Segment(0, added.length, tokens.length, pages, 0, tokens)), false);
    }

    private float[][] pass(int[] added) {
        int vocabulary = model.config().vocabulary();
        int[] rows = IntStream.range(0, added.length).toArray();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * vocabulary * added.length, 64);
            model.forward(batch(added), rows, logits);
            return split(logits, added.length, vocabulary);
        }
    }

    static float[][] split(MemorySegment values, int rows, int columns) {
        float[][] split = new float[rows][columns];
        for (int row = 0; row < rows; row++) {
            MemorySegment.copy(values, JAVA_FLOAT, 4L * row * columns, split[row], 0, columns);
        }
        return split;
    }

    private static int[] concatenate(int[] left, int[] right) {
        int[] joined = Arrays.copyOf(left, left.length + right.length);
        System.arraycopy(right, 0, joined, left.length, right.length);
        return joined;
    }
}
