package dev.strata.device;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/** The likeliest token of a row of logits, the lowest id among equals, and its probability; computed on the host by one thread. */
public final class Likeliest {
    private float[] row = new float[0];
    private int token;
    private float probability;

    /** Reads row {@code index} of [rows, vocabulary] float32 logits. */
    public void read(MemorySegment logits, int index, int vocabulary) {
        if (row.length != vocabulary) {
            row = new float[vocabulary];
        }
        MemorySegment.copy(logits, JAVA_FLOAT, 4L * index * vocabulary, row, 0, vocabulary);
        token = of(row);
        float best = row[token];
        Exponential.below(row, best, 1, row);
        probability = Float.isNaN(best) ? Float.NaN : (float) (1 / sum());
    }

    /** The likeliest token of a row of logits. */
    public static int of(float[] logits) {
        int at = 0;
        float largest = logits[0];
        for (int token = 1; token < logits.length; token++) {
            if (logits[token] > largest) {
                largest = logits[token];
                at = token;
            }
        }
        return at;
    }

    private double sum() {
        double even = 0;
        double odd = 0;
        int last = row.length & ~1;
        for (int i = 0; i < last; i += 2) {
            even += row[i];
            odd += row[i + 1];
        }
        return even + odd + (last < row.length ? row[last] : 0);
    }

    public int token() {
        return token;
    }

    /** All rows of {@code logits} as {@link Ops#likeliest} does, where the host sees the tensors. */
    public void all(Tensor logits, Tensor tokens, Tensor probabilities) {
        MemorySegment values = logits.host();
        for (int r = 0; r < logits.rows(); r++) {
            read(values, r, logits.columns());
            tokens.host().setAtIndex(JAVA_INT, r, token);
            probabilities.host().setAtIndex(JAVA_FLOAT, r, probability);
        }
    }
}
