package dev.strata.engine;

import dev.strata.model.Model;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Reads one text and pools its final hidden states to one vector of length 1, a chunk at a time. */
final class EmbeddingJob {
    final Sequence sequence;
    final CompletableFuture<float[]> result = new CompletableFuture<>();
    private final boolean mean;
    private final double[] sum;

    EmbeddingJob(Sequence sequence, boolean mean, int hidden) {
        this.sequence = sequence;
        this.mean = mean;
        sum = new double[hidden];
    }

    /**
     * Reads the next tokens, at most {@code chunk}; the pages for them are there.
     *
     * @param pause for others between layers
     */
    void read(Passes passes, Model model, int chunk, Model.Pause pause) {
        int rows = Math.min(chunk, sequence.unread());
        passes.read(List.of(new Part(sequence, 0, rows, sequence.past, 0)), Passes.noRows(), pause);
        sequence.past += rows;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment hidden = arena.allocate(4L * rows * sum.length, 64);
            model.hidden(rows, hidden);
            for (int row = mean ? 0 : rows - 1; row < rows; row++) {
                for (int i = 0; i < sum.length; i++) {
                    float value = hidden.getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * sum.length + i);
                    sum[i] = mean ? sum[i] + value : value;
                }
            }
        }
        if (sequence.unread() == 0) {
            result.complete(normalised());
        }
    }

    private float[] normalised() {
        double square = 0;
        for (double value : sum) {
            square += value * value;
        }
        double scale = square > 0 ? 1 / Math.sqrt(square) : 0;
        float[] vector = new float[sum.length];
        for (int i = 0; i < vector.length; i++) {
            vector[i] = (float) (sum[i] * scale);
        }
        return vector;
    }
}
