package dev.strata.sampling;

import java.util.Arrays;

/**
 * Finds where a list of weights, heaviest first and lower index first among equals, reaches a sum or a count, without sorting it: the bits
 * of positive floats are ordered like their values, so the weight at the cut is found in two counts over its upper and its lower bits.
 * Scratch memory for one thread.
 */
final class HeadSelection {
    private static final int BITS = 15;
    private static final int BUCKETS = 1 << BITS;

    private final double[] sums = new double[BUCKETS];
    private final int[] counts = new int[BUCKETS];
    private int cut;
    private int ties;
    private double sum;

    /**
     * Selects the shortest head whose sum is at least {@code wantedSum} or that has {@code wantedCount} weights; everything when neither
     * is reached.
     *
     * @param weights from 0 to 1
     */
    void select(float[] weights, double wantedSum, int wantedCount) {
        count(weights, -1);
        int upper = BUCKETS - 1;
        double reached = 0;
        int taken = 0;
        while (upper > 0 && reached + sums[upper] < wantedSum && taken + counts[upper] < wantedCount) {
            reached += sums[upper];
            taken += counts[upper--];
        }
        count(weights, upper);
        int lower = BUCKETS - 1;
        while (lower > 0 && reached + sums[lower] < wantedSum && taken + counts[lower] < wantedCount) {
            reached += sums[lower];
            taken += counts[lower--];
        }
        cut = upper << BITS | lower;
        double each = Float.intBitsToFloat(cut);
        int equal = counts[lower];
        double needed = each > 0 ? Math.ceil((wantedSum - reached) / each) : equal;
        ties = (int) Math.clamp(Math.min(needed, wantedCount - taken), Math.min(1, equal), equal);
        sum = reached + ties * each;
    }

    /** Counts weights by their upper bits, or those with the upper bits {@code upper} by their lower ones. */
    private void count(float[] weights, int upper) {
        Arrays.fill(sums, 0);
        Arrays.fill(counts, 0);
        for (float weight : weights) {
            int bits = Float.floatToRawIntBits(weight);
            int bucket = upper < 0 ? bits >>> BITS : bits & (BUCKETS - 1);
            if (upper < 0 || bits >>> BITS == upper) {
                sums[bucket] += weight;
                counts[bucket]++;
            }
        }
    }

    /** Sum of the selected weights. */
    double sum() {
        return sum;
    }

    /** Leaves out selected weights below {@code least}; {@link #sum} no longer holds. */
    void atLeast(float least) {
        int bits = Float.floatToRawIntBits(least);
        if (bits > cut) {
            cut = bits;
            ties = Integer.MAX_VALUE;
        }
    }

    /** Index of the selected weight at which the running sum over the selected ones passes {@code uniform} of their whole. */
    int draw(float[] weights, double uniform) {
        double left = uniform * walk(weights, Double.POSITIVE_INFINITY, true);
        return (int) walk(weights, left, false);
    }

    /** The selected weights' sum, or the index where {@code left} is used up. */
    private double walk(float[] weights, double left, boolean whole) {
        double rest = left;
        double total = 0;
        int equal = ties;
        int last = 0;
        for (int i = 0; i < weights.length; i++) {
            int bits = Float.floatToRawIntBits(weights[i]);
            if (bits > cut || (bits == cut && equal-- > 0)) {
                last = i;
                total += weights[i];
                rest -= weights[i];
                if (rest < 0) {
                    break;
                }
            }
        }
        return whole ? total : last;
    }
}
