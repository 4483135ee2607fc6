package dev.strata.decode;

import java.util.Arrays;

/**
 * Whether the processor's help pays. While it is on trial, {@value #BLOCK} layers with help and as many without it take turns, and each counts
 * as a whole, from its router's choice to that of the next layer, by the experts that it missed. The medians of {@value #COUNTED} layers of each
 * kind decide for good, against help unless it gains more than what they vary by; fewer do where help costs much.
 */
final class ShareGate {
    private static final int BLOCK = 8;
    private static final int COUNTED = 9;

    /** Layers after which those count as well that others may have disturbed: passes may be too short for any else. */
    private static final int PATIENCE = 20 * BLOCK;

    private static final double WORTH_IT = 0.95;

    /** So many layers of each kind are enough to see that help costs much. */
    private static final int ENOUGH = 4;

    private static final double COSTS_MUCH = 1.2;

    private final double[][] times = new double[2][COUNTED];
    private final int[] counts = new int[2];
    private int layers;
    private boolean decided;
    private boolean pays;

    /** Begins a layer; returns its number, by which {@link #helps} and {@link #took} know it. */
    int next() {
        return layers++;
    }

    /** Whether a layer gets help. */
    boolean helps(int layer) {
        return decided ? pays : layer / BLOCK % 2 == 0;
    }

    /**
     * What a layer took, from its own router's choice to that of the next one.
     *
     * @param missed experts that it missed
     * @param quiet whether nothing from before it was still running
     */
    void took(int layer, int missed, double millis, boolean quiet) {
        boolean helped = helps(layer);
        // The very first block touches memory for the first time and does not know what experts cost.
        boolean told = layer >= BLOCK && (helped ? layer % BLOCK > 0 : quiet) || layer >= PATIENCE;
        int kind = helped ? 0 : 1;
        if (decided || !told || missed == 0 || counts[kind] == COUNTED) {
            return;
        }
        times[kind][counts[kind]++] = millis / missed;
        int both = Math.min(counts[0], counts[1]);
        decided = both == COUNTED || both >= ENOUGH && ratio() > COSTS_MUCH;
        pays = decided && ratio() < WORTH_IT;
    }

    boolean decided() {
        return decided;
    }

    boolean pays() {
        return pays;
    }

    /** Time of layers with help to time of those without; once it is decided. */
    double ratio() {
        return median(0) / median(1);
    }

    private double median(int kind) {
        double[] sorted = Arrays.copyOf(times[kind], counts[kind]);
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
