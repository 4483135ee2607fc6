package dev.strata.decode;

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
        token = 0;
        for (int i = 1; i < row.length; i++) {
            if (row[i] > row[token]) {
                token = i;
            }
        }
        double sum = 0;
        for (float value : row) {
            // Tokens this far below add less than rounding does.
            if (value > row[token] - 20) {
                sum += Math.exp(value - row[token]);
            }
        }
        probability = (float) (1 / sum);
    }

    public int token() {
        return token;
    }

    /** NaN when the logits were not numbers. */
    public float probability() {
        return probability;
    }
}
