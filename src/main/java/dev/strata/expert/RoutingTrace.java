package dev.strata.expert;

import java.util.Arrays;

/** Which experts a run of decode steps chose, in order. */
public final class RoutingTrace {
    private int[][] steps = new int[256][];
    private int count;
    private int[] open = new int[64];
    private int filled;

    /** One choice of the step that is being noted. */
    public void choose(int layer, int expert) {
        if (filled + 2 > open.length) {
            open = Arrays.copyOf(open, 2 * open.length);
        }
        open[filled++] = layer;
        open[filled++] = expert;
    }

    /** Ends a step. */
    public void endStep() {
        if (count == steps.length) {
            steps = Arrays.copyOf(steps, 2 * count);
        }
        steps[count++] = Arrays.copyOf(open, filled);
        filled = 0;
    }

    /** Most choices of one step. */
    int most() {
        int most = 0;
        for (int step = 0; step < count; step++) {
            most = Math.max(most, steps[step].length / 2);
        }
        return most;
    }

    public int steps() {
        return count;
    }

    /** Layer and expert of every choice of a step, in turn; not to be changed. */
    int[] step(int index) {
        return steps[index];
    }
}
