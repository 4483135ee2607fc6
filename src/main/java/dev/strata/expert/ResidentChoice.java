package dev.strata.expert;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Which experts lie in RAM when steps decide it: a missed expert has to be read in any case, so it takes the place of the least used one
 * of its layer that the step does not need, unless that one is used more. One thread changes it; figures may be a step old.
 */
final class ResidentChoice {
    private final int[][] places;
    private final ArenaLayout layout;
    private final ExpertUsage usage;
    private final SlotAdaptation settings;
    private final int[][] coming;
    private int steps;
    private int lastLayer = Integer.MAX_VALUE;
    private int lost = -1;
    private final List<Deque<Integer>> free = new ArrayList<>();
    private long swaps;

    /**
     * @param places place of every expert, -1 without one; changed here
     * @param profile what is known about the use of experts
     */
    ResidentChoice(ArenaLayout layout, int[][] places, ExpertProfile profile, SlotAdaptation settings) {
        this.layout = layout;
        this.places = places;
        this.settings = settings;
        usage = new ExpertUsage(profile, 1);
        coming = new int[places.length][];
        for (int layer = 0; layer < places.length; layer++) {
            coming[layer] = new int[places[layer].length];
            Arrays.fill(coming[layer], -1);
            free.add(new ArrayDeque<>());
        }
    }

    void used(int layer, int[] choices, int count) {
        if (layer <= lastLayer) {
            usage.beginStep();
            if (++steps % settings.every() == 0) {
                usage.decay(settings.decay());
            }
        }
        lastLayer = layer;
        long bytes = layout.layout(layer).blobBytes();
        for (int i = 0; i < count; i++) {
            int expert = choices[i];
            usage.count(layer, expert, places[layer][expert] >= 0, bytes);
        }
    }

    /** The place that a newcomer gets, which is nobody's before {@link #settle}; -1: none. */
    int admit(int layer, int newcomer) {
        Integer left = free.get(layer).poll();
        int loser = left == null ? loser(layer, newcomer) : -1;
        if (loser >= 0) {
            left = places[layer][loser];
            places[layer][loser] = -1;
        }
        lost = loser;
        if (left == null) {
            return -1;
        }
        coming[layer][newcomer] = left;
        swaps++;
        return left;
    }

    private int loser(int layer, int newcomer) {
        int loser = -1;
        float least = usage.count(layer, newcomer);
        for (int expert = 0; expert < places[layer].length; expert++) {
            if (places[layer][expert] >= 0 && !usage.inStep(layer, expert) && usage.count(layer, expert) <= least) {
                least = usage.count(layer, expert);
                loser = expert;
            }
        }
        return loser;
    }

    /** The expert that gave its place to the last newcomer, -1: the place was free. */
    int lost() {
        return lost;
    }

    /** The newcomer is in its place, or was not read: then the next newcomer of the layer takes it. */
    void settle(int layer, int expert, boolean read) {
        int place = coming[layer][expert];
        coming[layer][expert] = -1;
        if (read) {
            places[layer][expert] = place;
        } else if (place >= 0) {
            free.get(layer).add(place);
        }
    }

    ExpertUsage usage() {
        return usage;
    }

    long swaps() {
        return swaps;
    }
}
