package dev.strata.expert;

/** Decayed counts of how often every expert was chosen in decode, hits and misses alike, with what was hit. */
public final class ExpertUsage {
    private final float[][] counts;
    private long lookups;
    private long hits;
    private long hitBytes;
    private long missBytes;

    /** Starts from a profile's heat, scaled so that the hottest expert counts {@code prior}. */
    public ExpertUsage(ExpertProfile profile, float prior) {
        float hottest = 0;
        for (float[] layer : profile.heat()) {
            for (float value : layer) {
                hottest = Math.max(hottest, value);
            }
        }
        float factor = hottest > 0 ? prior / hottest : 0;
        counts = new float[profile.heat().length][];
        for (int layer = 0; layer < counts.length; layer++) {
            counts[layer] = new float[profile.heat()[layer].length];
            for (int expert = 0; expert < counts[layer].length; expert++) {
                counts[layer][expert] = profile.heat()[layer][expert] * factor;
            }
        }
    }

    /** One row chose one expert. */
    public void count(int layer, int expert, boolean hit, long blobBytes) {
        counts[layer][expert]++;
        lookups++;
        if (hit) {
            hits++;
            hitBytes += blobBytes;
        } else {
            missBytes += blobBytes;
        }
    }

    /** Multiplies all counts. */
    public void decay(float factor) {
        for (float[] layer : counts) {
            for (int expert = 0; expert < layer.length; expert++) {
                layer[expert] *= factor;
            }
        }
    }

    public float count(int layer, int expert) {
        return counts[layer][expert];
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

    /** Share of lookups that found their expert in a slot, 1 when there were none. */
    public double hitRate() {
        return lookups == 0 ? 1 : hits / (double) lookups;
    }

    /** Share of bytes read from slots, 1 when nothing was read. */
    public double hitRateByBytes() {
        long bytes = hitBytes + missBytes;
        return bytes == 0 ? 1 : hitBytes / (double) bytes;
    }

    /**
     * What was learned, for the next start: residents come first, then heat, then the old prior as it decayed.
     */
    public ExpertProfile profile(SlotCache cache) {
        float[][] heat = new float[counts.length][];
        float hottest = 0;
        for (float[] layer : counts) {
            for (float value : layer) {
                hottest = Math.max(hottest, value);
            }
        }
        for (int layer = 0; layer < heat.length; layer++) {
            heat[layer] = counts[layer].clone();
            for (int expert = 0; expert < heat[layer].length; expert++) {
                if (cache.slot(layer, expert) >= 0) {
                    heat[layer][expert] += hottest + 1;
                }
            }
        }
        return new ExpertProfile(heat);
    }
}
