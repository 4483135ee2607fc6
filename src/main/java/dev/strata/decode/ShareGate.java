package dev.strata.decode;

import java.util.Arrays;

/**
 * Whether the processor's help pays: while it is on trial, layers with and without it alternate; after {@value #TRIALS} pairs the median
 * of their ratios decides for good, against it unless a tenth is gained. The share follows running means of what an expert costs either side.
 */
final class ShareGate {
    private static final int TRIALS = 5;

    /** Pairs that do not count: memory is touched and threads wake up for the first time. */
    private static final int FIRST_PAIRS = 1;

    /** Smaller gains are within what single layers vary by, and cost the processor for nothing. */
    private static final double WORTH_IT = 0.9;

    private static final double NEWEST = 0.2;
    private static final double START = 0.5;

    private final double[] ratios = new double[TRIALS];
    private int pairs = -FIRST_PAIRS;
    private boolean decided;
    private boolean pays;
    private boolean with;
    private double without;
    private double card;
    private double processor;

    /** Whether the next layer gets help. */
    boolean next() {
        if (decided) {
            return pays;
        }
        with = !with;
        return !with;
    }

    /** Part of the missed experts that the processor should take. */
    double share() {
        return card > 0 && processor > 0 ? card / (card + processor) : START;
    }

    /**
     * What a layer took.
     *
     * @param helped experts that the processor had, 0 in a layer without help
     * @param others missed experts that the card had
     * @param cardMillis time of the card's products
     * @param processorMillis time of the processor's
     * @param millis until both were through
     */
    void took(int helped, int others, double cardMillis, double processorMillis, double millis) {
        if (others > 0) {
            card = mean(card, cardMillis / others);
        }
        if (helped > 0) {
            processor = mean(processor, processorMillis / helped);
        }
        if (decided || helped + others == 0) {
            return;
        }
        double one = millis / (helped + others);
        if (helped == 0) {
            without = one;
        } else if (without > 0) {
            if (pairs >= 0) {
                ratios[pairs] = one / without;
            }
            pairs++;
            without = 0;
            if (pairs == TRIALS) {
                decided = true;
                pays = ratio() < WORTH_IT;
            }
        }
    }

    private static double mean(double old, double value) {
        return old == 0 ? value : old + NEWEST * (value - old);
    }

    boolean decided() {
        return decided;
    }

    boolean pays() {
        return pays;
    }

    /** Median of the measured ratios, time with help to time without. */
    double ratio() {
        double[] sorted = ratios.clone();
        Arrays.sort(sorted);
        return sorted[TRIALS / 2];
    }
}
