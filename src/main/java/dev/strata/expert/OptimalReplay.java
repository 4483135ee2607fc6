package dev.strata.expert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The hit rate that no cache can exceed on a trace (Belady): after every step the residents of a layer and what it missed compete for the layer's slots, and those stay
 * that are used again soonest. What is left to any way of choosing that does not know the future is below it.
 */
final class OptimalReplay {
    private static final int NEVER = Integer.MAX_VALUE;

    private final RoutingTrace trace;
    private final int counted;
    private final boolean[][] resident;
    private final int[][] nextUse;
    private final List<int[]> nextUses;
    private long lookups;
    private long hits;

    private OptimalReplay(ArenaLayout layout, RoutingTrace trace, int counted, SlotPlan plan) {
        this.trace = trace;
        this.counted = counted;
        resident = new boolean[layout.layers()][];
        nextUse = new int[layout.layers()][];
        for (int layer = 0; layer < resident.length; layer++) {
            resident[layer] = new boolean[layout.experts(layer)];
            nextUse[layer] = new int[layout.experts(layer)];
            Arrays.fill(nextUse[layer], NEVER);
        }
        for (int slot = 0; slot < plan.slots(); slot++) {
            resident[plan.layers()[slot]][plan.experts()[slot]] = true;
        }
        nextUses = nextUses();
    }

    /** @param counted first step whose lookups count */
    static double hitRate(ArenaLayout layout, RoutingTrace trace, int counted, int slots) {
        SlotPlan plan = SlotPlan.fit(layout, ExpertProfile.even(layout).ranking(), Long.MAX_VALUE, slots);
        OptimalReplay replay = new OptimalReplay(layout, trace, counted, plan);
        for (int step = 0; step < trace.steps(); step++) {
            replay.step(step);
        }
        return replay.lookups == 0 ? 1 : replay.hits / (double) replay.lookups;
    }

    /** For every choice of every step, the next step that makes it again; leaves {@code nextUse} at the first ones. */
    private List<int[]> nextUses() {
        List<int[]> all = new ArrayList<>();
        for (int step = trace.steps() - 1; step >= 0; step--) {
            int[] choices = trace.step(step);
            int[] next = new int[choices.length / 2];
            for (int i = 0; i < next.length; i++) {
                next[i] = nextUse[choices[2 * i]][choices[2 * i + 1]];
            }
            for (int i = 0; i < next.length; i++) {
                nextUse[choices[2 * i]][choices[2 * i + 1]] = step;
            }
            all.add(next);
        }
        return all.reversed();
    }

    private void step(int step) {
        int[] choices = trace.step(step);
        int[] next = nextUses.get(step);
        int[] missed = new int[resident.length];
        boolean[] hit = new boolean[next.length];
        for (int i = 0; i < next.length; i++) {
            hit[i] = resident[choices[2 * i]][choices[2 * i + 1]];
            nextUse[choices[2 * i]][choices[2 * i + 1]] = next[i];
        }
        for (int i = 0; i < next.length; i++) {
            int layer = choices[2 * i];
            if (!resident[layer][choices[2 * i + 1]]) {
                resident[layer][choices[2 * i + 1]] = true;
                missed[layer]++;
            }
            if (step >= counted) {
                lookups++;
                hits += hit[i] ? 1 : 0;
            }
        }
        for (int layer = 0; layer < missed.length; layer++) {
            for (int i = 0; i < missed[layer]; i++) {
                resident[layer][latest(layer)] = false;
            }
        }
    }

    /** The resident that is not used for the longest time; the layer has one. */
    private int latest(int layer) {
        int latest = -1;
        for (int expert = 0; expert < resident[layer].length; expert++) {
            if (resident[layer][expert] && (latest < 0 || nextUse[layer][expert] > nextUse[layer][latest])) {
                latest = expert;
            }
        }
        return latest;
    }
}
