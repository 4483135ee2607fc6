package dev.strata.expert;

import java.util.function.BiPredicate;

/**
 * Decayed counts of how often every expert was chosen in decode, hits and misses alike, with what was hit. A count is the mean of two, of
 * recent uses (weight {@value #RECENT_WEIGHT}) and of lasting ones, which decay {@value #LASTING} times slower: what was used just now comes back
 * soon, and what is used often stays.
 */
public final class ExpertUsage {
    private static final float RECENT_WEIGHT = 12;
    private static final float LASTING = 30;

    private final float[][] recent;
    private final float[][] lasting;
    private final int[][] lastStep;
    private int step = 1;
    private long lookups;
    private long hits;
    private long hitBytes;
    private long missBytes;
    private long missedOnce;

    /** Starts from a profile's heat, scaled so that the hottest expert counts {@code prior}. */
    public ExpertUsage(ExpertProfile profile, float prior) {
        float hottest = 0;
        for (float[] layer : profile.heat()) {
            for (float value : layer) {
                hottest = Math.max(hottest, value);
            }
        }
        float factor = hottest > 0 ? prior / hottest : 0;
        recent = new float[profile.heat().length][];
        lasting = new float[recent.length][];
        lastStep = new int[recent.length][];
        for (int layer = 0; layer < recent.length; layer++) {
            recent[layer] = new float[profile.heat()[layer].length];
            lasting[layer] = new float[recent[layer].length];
            lastStep[layer] = new int[recent[layer].length];
            for (int expert = 0; expert < lasting[layer].length; expert++) {
                lasting[layer][expert] = profile.heat()[layer][expert] * factor * (RECENT_WEIGHT + 1);
            }
        }
    }

    /** What is counted from now on belongs to another step. */
    public void beginStep() {
        step++;
    }

    /** Whether a row of this step chose the expert. */
    public boolean inStep(int layer, int expert) {
        return lastStep[layer][expert] == step;
    }

    /** One row chose one expert. */
    public void count(int layer, int expert, boolean hit, long blobBytes) {
        recent[layer][expert]++;
        lasting[layer][expert]++;
        lookups++;
        if (hit) {
            hits++;
            hitBytes += blobBytes;
        } else {
            missBytes += blobBytes;
            missedOnce += inStep(layer, expert) ? 0 : blobBytes;
        }
        lastStep[layer][expert] = step;
    }

    /** Multiplies all recent counts, and lasting ones by a factor so much nearer to 1. */
    public void decay(float factor) {
        float slow = 1 - (1 - factor) / LASTING;
        for (int layer = 0; layer < recent.length; layer++) {
            for (int expert = 0; expert < recent[layer].length; expert++) {
                recent[layer][expert] *= factor;
                lasting[layer][expert] *= slow;
            }
        }
    }

    /** Uses, newer ones counting more; 1 for a single one just now. */
    public float count(int layer, int expert) {
        return (RECENT_WEIGHT * recent[layer][expert] + lasting[layer][expert]) / (RECENT_WEIGHT + 1);
    }

    /** Uses of the last rounds. */
    public float recent(int layer, int expert) {
        return recent[layer][expert];
    }

    public long lookups() {
        return lookups;
    }

    public long hits() {
        return hits;
    }

    public long hitBytes() {
        return hitBytes;
    }

    public long missBytes() {
        return missBytes;
    }

    /** Bytes of missed experts, each counted once a step. */
    public long missedOnce() {
        return missedOnce;
    }

    /** Share of lookups that found their expert in a slot, 1 when there were none. */
    public double hitRate() {
        return lookups == 0 ? 1 : hits / (double) lookups;
    }

    /**
     * What was learned, for the next start: residents come first, then heat, then the old prior as it decayed.
     */
    public ExpertProfile profile(BiPredicate<Integer, Integer> resident) {
        float[][] heat = new float[recent.length][];
        float hottest = 0;
        for (int layer = 0; layer < heat.length; layer++) {
            heat[layer] = new float[recent[layer].length];
            for (int expert = 0; expert < heat[layer].length; expert++) {
                heat[layer][expert] = count(layer, expert);
                hottest = Math.max(hottest, heat[layer][expert]);
            }
        }
        for (int layer = 0; layer < heat.length; layer++) {
            for (int expert = 0; expert < heat[layer].length; expert++) {
                if (resident.test(layer, expert)) {
                    heat[layer][expert] += hottest + 1;
                }
            }
        }
        return new ExpertProfile(heat);
    }
}
