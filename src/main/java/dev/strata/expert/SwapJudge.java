package dev.strata.expert;

/**
 * Whether swaps of the cache pay: a swap costs the link one blob, so the newcomer has to be used at least once more than the expert that it
 * replaced while both are watched. While swaps do not, newcomers need a larger gain; where routing is even, hardly any are made.
 */
public final class SwapJudge {
    /** Rounds that the two experts of a swap are watched. */
    private static final int WATCHED = 24;

    private static final double KEEP = 0.98;
    private static final double LEAST_SWAPS = 8;
    private static final float MOST = 8;
    private static final float HARDER = 1.08f;
    private static final float EASIER = 0.96f;

    private final int[][] admitted;
    private final int[][] evicted;
    private int round = WATCHED + 1;
    private double swaps;
    private double gained;
    private float factor = 1;

    public SwapJudge(ArenaLayout layout) {
        admitted = new int[layout.layers()][];
        evicted = new int[layout.layers()][];
        for (int layer = 0; layer < admitted.length; layer++) {
            admitted[layer] = new int[layout.experts(layer)];
            evicted[layer] = new int[layout.experts(layer)];
        }
    }

    /** An expert was chosen. */
    public void used(int layer, int expert) {
        if (round - admitted[layer][expert] <= WATCHED) {
            gained++;
        } else if (round - evicted[layer][expert] <= WATCHED) {
            gained--;
        }
    }

    /** A slot changed its expert. */
    public void swapped(int layer, int gone, int newcomer) {
        swaps++;
        admitted[layer][newcomer] = round;
        evicted[layer][newcomer] = 0;
        evicted[layer][gone] = round;
        admitted[layer][gone] = 0;
    }

    /** A round is over. */
    public void endRound() {
        round++;
        if (swaps >= LEAST_SWAPS) {
            factor = Math.clamp(factor * (gained < swaps ? HARDER : EASIER), 1, MOST);
        } else {
            factor = Math.max(1, factor * EASIER);
        }
        swaps *= KEEP;
        gained *= KEEP;
    }

    /** What the least gain of a newcomer is multiplied with. */
    public float factor() {
        return factor;
    }
}
