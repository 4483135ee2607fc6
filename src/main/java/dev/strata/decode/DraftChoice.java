package dev.strata.decode;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The likeliest token of a row of draft logits and how likely the draft layer finds it. Scratch memory for one thread. */
public final class DraftChoice {
    /** Tokens this far below the best one add less than rounding does. */
    private static final float LEAST = -31;

    private final float[] row;
    private int token;
    private float probability;

    public DraftChoice(int vocabulary) {
        row = new float[vocabulary];
    }

    /** Reads row {@code index} of [rows, vocabulary] float32 logits. */
    public void read(MemorySegment logits, int index) {
        MemorySegment.copy(logits, ValueLayout.JAVA_FLOAT, 4L * index * row.length, row, 0, row.length);
        token = likeliest();
        float best = row[token];
        weigh(best);
        probability = Float.isNaN(best) ? Float.NaN : (float) (1 / sum());
    }

    private int likeliest() {
        int at = 0;
        for (int i = 1; i < row.length; i++) {
            if (row[i] > row[at]) {
                at = i;
            }
        }
        return at;
    }

    /**
     * Turns logits into e^(logit - best), relative error below 2e-5: Taylor's polynomial of degree 7 of e^(x / 64), squared six times. In
     * additions and products alone, so that the compiler works on several at a time: a vocabulary would else take a millisecond.
     */
    private void weigh(float best) {
        for (int i = 0; i < row.length; i++) {
            float x = Math.max(row[i] - best, LEAST) * (1f / 64);
            float power = 1f / 5040;
            power = power * x + 1f / 720;
            power = power * x + 1f / 120;
            power = power * x + 1f / 24;
            power = power * x + 1f / 6;
            power = power * x + 0.5f;
            power = power * x + 1f;
            power = power * x + 1f;
            power *= power;
            power *= power;
            power *= power;
            power *= power;
            power *= power;
            row[i] = power * power;
        }
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
