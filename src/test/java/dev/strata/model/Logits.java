package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Comparisons of logits. */
public final class Logits {
    private Logits() {}

    public static int argmax(float[] logits) {
        int best = 0;
        for (int i = 1; i < logits.length; i++) {
            if (logits[i] > logits[best]) {
                best = i;
            }
        }
        return best;
    }

    /** The distance between the best two. */
    public static float gap(float[] logits) {
        int best = argmax(logits);
        float second = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < logits.length; i++) {
            if (i != best) {
                second = Math.max(second, logits[i]);
            }
        }
        return logits[best] - second;
    }

    public static double largestDifference(float[] left, float[] right) {
        assertEquals(left.length, right.length);
        double largest = 0;
        for (int i = 0; i < left.length; i++) {
            largest = Math.max(largest, Math.abs((double) left[i] - right[i]));
        }
        return largest;
    }

    /** Root mean square of the differences over that of the expected values. */
    static double normalisedError(float[] expected, float[] actual) {
        assertEquals(expected.length, actual.length);
        double difference = 0;
        double size = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += Math.pow((double) actual[i] - expected[i], 2);
            size += Math.pow(expected[i], 2);
        }
        return Math.sqrt(difference / size);
    }

    /** Every value within {@code tolerance}, and the same best token wherever the choice is clear. */
    public static void assertClose(String what, float[] expected, float[] actual, double tolerance) {
        double difference = largestDifference(expected, actual);
        assertTrue(difference <= tolerance, () -> what + " differs by " + difference);
        if (gap(expected) > 1e-2) {
            assertEquals(argmax(expected), argmax(actual), what);
        }
    }
}
