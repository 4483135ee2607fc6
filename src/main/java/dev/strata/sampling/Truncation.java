package dev.strata.sampling;

import java.util.Arrays;

/**
 * Keeps the tokens that top_k, top_p and min_p leave, and draws one of them. Tokens are first counted into narrow bands of logits, which
 * finds the band where a limit falls without sorting the vocabulary; only the tokens above are gathered and sorted. Scratch memory for
 * one thread.
 */
final class Truncation {
    private static final int BANDS_PER_UNIT = 16;
    /** Tokens this far below the best (in logits over temperature) are left out: e^-30 of a vocabulary is nothing. */
    private static final int REACH = 30;

    private static final int BANDS = REACH * BANDS_PER_UNIT;

    private final float[] weights;
    private final short[] bands;
    private final int[] bandCounts = new int[BANDS];
    private final double[] bandSums = new double[BANDS];
    private long[] order = new long[1024];

    Truncation(int vocabulary) {
        weights = new float[vocabulary];
        bands = new short[vocabulary];
    }

    /**
     * Draws a token.
     *
     * @param logits finite or minus infinity; at least one finite
     * @param best the largest of them
     * @param uniform random number in [0, 1)
     */
    int draw(float[] logits, float best, SamplingSettings settings, double uniform) {
        weigh(logits, best, settings.temperature());
        boolean sorted = (settings.topK() > 0 && settings.topK() < logits.length) || settings.topP() < 1;
        return sorted ? drawSorted(settings, uniform) : drawAny(logits.length, settings.minP(), uniform);
    }

    /** Fills weights (relative to the best token's 1), bands, and the bands' counts and sums. */
    private void weigh(float[] logits, float best, float temperature) {
        Arrays.fill(bandCounts, 0);
        Arrays.fill(bandSums, 0);
        float scale = 1 / temperature;
        for (int token = 0; token < logits.length; token++) {
            float below = (best - logits[token]) * scale;
            if (below < REACH) {
                float weight = Exponential.ofNegative(-below);
                int band = (int) (below * BANDS_PER_UNIT);
                weights[token] = weight;
                bands[token] = (short) band;
                bandCounts[band]++;
                bandSums[band] += weight;
            } else {
                weights[token] = 0;
                bands[token] = BANDS;
            }
        }
    }

    private int drawAny(int vocabulary, float minP, double uniform) {
        double total = 0;
        for (int token = 0; token < vocabulary; token++) {
            total += weights[token] >= minP ? weights[token] : 0;
        }
        double left = uniform * total;
        int last = -1;
        for (int token = 0; token < vocabulary; token++) {
            if (weights[token] > 0 && weights[token] >= minP) {
                last = token;
                left -= weights[token];
                if (left < 0) {
                    return token;
                }
            }
        }
        return last;
    }

    private int drawSorted(SamplingSettings settings, double uniform) {
        int kept = gather(lastBand(settings));
        if (settings.topK() > 0) {
            kept = Math.min(kept, settings.topK());
        }
        double total = sum(kept);
        if (settings.topP() < 1) {
            // The tokens that were not gathered belong to the total unless top_k has cut them off.
            double whole = settings.topK() > 0 ? total : wholeSum();
            kept = keepProbability(kept, settings.topP() * whole);
        }
        while (kept > 1 && weightAt(kept - 1) < settings.minP()) {
            kept--;
        }
        double left = uniform * sum(kept);
        for (int i = 0; i < kept; i++) {
            left -= weightAt(i);
            if (left < 0) {
                return (int) order[i];
            }
        }
        return (int) order[kept - 1];
    }

    /** The last band that can hold a kept token. */
    private int lastBand(SamplingSettings settings) {
        long enough = settings.topK() > 0 ? settings.topK() : Long.MAX_VALUE;
        double enoughWeight = settings.topK() > 0 ? Double.MAX_VALUE : settings.topP() * wholeSum();
        long count = 0;
        double weight = 0;
        for (int band = 0; band < BANDS; band++) {
            count += bandCounts[band];
            weight += bandSums[band];
            if (count >= enough || weight >= enoughWeight) {
                return band;
            }
        }
        return BANDS - 1;
    }

    private double wholeSum() {
        double sum = 0;
        for (double band : bandSums) {
            sum += band;
        }
        return sum;
    }

    /** Puts all tokens up to {@code lastBand} in order, likeliest first, lower id first among equals; returns how many. */
    private int gather(int lastBand) {
        int count = 0;
        for (int token = 0; token < weights.length; token++) {
            if (bands[token] <= lastBand) {
                if (count == order.length) {
                    order = Arrays.copyOf(order, count * 2);
                }
                // Weights are positive, so their bits are ordered like their values.
                order[count++] = (long) ~Float.floatToRawIntBits(weights[token]) << 32 | token;
            }
        }
        Arrays.sort(order, 0, count);
        return count;
    }

    private int keepProbability(int kept, double wanted) {
        double sum = 0;
        for (int i = 0; i < kept; i++) {
            sum += weightAt(i);
            if (sum >= wanted) {
                return i + 1;
            }
        }
        return kept;
    }

    private double sum(int kept) {
        double sum = 0;
        for (int i = 0; i < kept; i++) {
            sum += weightAt(i);
        }
        return sum;
    }

    private float weightAt(int i) {
        return weights[(int) order[i]];
    }
}
