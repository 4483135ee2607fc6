package dev.strata.sampling;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The likeliest token of a row of draft logits and how likely the draft layer finds it. Scratch memory for one thread. */
public final class DraftChoice {
    private final float[] row;
    private int token;
    private float probability;

    public DraftChoice(int vocabulary) {
        row = new float[vocabulary];
    }

    /** Reads row {@code index} of [rows, vocabulary] float32 logits. */
    public void read(MemorySegment logits, int index) {
        MemorySegment.copy(logits, ValueLayout.JAVA_FLOAT, 4L * index * row.length, row, 0, row.length);
        token = SamplerScratch.argmax(row);
        float best = row[token];
        Exponential.below(row, best, 1, row);
        probability = Float.isNaN(best) ? Float.NaN : (float) (1 / sum());
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

    /** NaN when the logits were not numbers. */
    public float probability() {
        return probability;
    }
}
