package dev.strata.sampling;

import dev.strata.device.Exponential;
import java.util.Arrays;

/**
 * Keeps the tokens that top_k, top_p and min_p leave, and draws one of them. Only tokens near the best one are gathered and sorted; how near
 * is widened until the limits fall among them. Where too many are near, the cut is found without sorting. Scratch memory for one thread.
 */
final class Truncation {
    /** Tokens this far below the best one (in logits over temperature) are left out: e^-30 of a vocabulary is nothing. */
    private static final float[] REACH = {4, 8, 16, 30};

    private static final int MOST_SORTED = 2048;

    private final float[] weights;
    private final long[] order = new long[MOST_SORTED];
    private final HeadSelection selection = new HeadSelection();

    Truncation(int vocabulary) {
        weights = new float[vocabulary];
    }

    /**
     * Draws a token.
     *
     * @param logits finite or minus infinity; at least one finite
     * @param best the largest of them
     * @param uniform random number in [0, 1)
     */
    int draw(float[] logits, float best, SamplingSettings settings, double uniform) {
        Exponential.below(logits, best, 1 / settings.temperature(), weights);
        boolean sorted = (settings.topK() > 0 && settings.topK() < logits.length) || settings.topP() < 1;
        return sorted ? drawSorted(settings, uniform) : drawAny(settings.minP(), uniform);
    }

    /** log of the sum of e^logit. */
    double logSum(float[] logits, float best) {
        Exponential.below(logits, best, 1, weights);
        return best + Math.log(sumFrom(0));
    }

    private double sumFrom(float least) {
        double even = 0;
        double odd = 0;
        int last = weights.length & ~1;
        for (int i = 0; i < last; i += 2) {
            even += weights[i] >= least ? weights[i] : 0;
            odd += weights[i + 1] >= least ? weights[i + 1] : 0;
        }
        return even + odd + (last < weights.length && weights[last] >= least ? weights[last] : 0);
    }

    private int drawAny(float minP, double uniform) {
        float least = Math.max(minP, leastWeight(REACH.length - 1));
        double left = uniform * sumFrom(least);
        int last = -1;
        for (int token = 0; token < weights.length; token++) {
            if (weights[token] >= least) {
                last = token;
                left -= weights[token];
                if (left < 0) {
                    return token;
                }
            }
        }
        return last;
    }

    private static float leastWeight(int reach) {
        return (float) Math.exp(-REACH[reach]);
    }

    private int drawSorted(SamplingSettings settings, double uniform) {
        int most = settings.topK() > 0 ? settings.topK() : Integer.MAX_VALUE;
        double wanted = settings.topK() > 0 ? Double.MAX_VALUE : settings.topP() * sumFrom(0);
        int reach = 0;
        int kept = gather(leastWeight(reach));
        while (kept >= 0 && reach < REACH.length - 1 && (settings.topK() > 0 ? kept < most : sum(kept) < wanted)) {
            kept = gather(leastWeight(++reach));
        }
        if (kept < 0) {
            return drawSelected(settings, most, wanted, uniform);
        }
        sort(kept);
        if (settings.topK() > 0) {
            kept = Math.min(kept, most);
            wanted = settings.topP() * sum(kept);
        }
        if (settings.topP() < 1) {
            kept = keepProbability(kept, wanted);
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

    /** For flat distributions, where sorting all that could be kept takes long. */
    private int drawSelected(SamplingSettings settings, int most, double wanted, double uniform) {
        selection.select(weights, wanted, most);
        if (settings.topK() > 0 && settings.topP() < 1) {
            selection.select(weights, settings.topP() * selection.sum(), most);
        }
        selection.atLeast(settings.minP());
        return selection.draw(weights, uniform);
    }

    /** Gathers all tokens of at least this weight, in the order of their ids; returns how many, or -1 when they are too many to sort. */
    private int gather(float least) {
        int count = 0;
        for (int token = 0; token < weights.length; token++) {
            if (weights[token] >= least) {
                if (count == order.length) {
                    return -1;
                }
                order[count++] = token;
            }
        }
        return count;
    }

    /** Likeliest first, lower id first among equals. */
    private void sort(int count) {
        for (int i = 0; i < count; i++) {
            // Weights are positive, so their bits are ordered like their values.
            order[i] |= (long) ~Float.floatToRawIntBits(weights[(int) order[i]]) << 32;
        }
        Arrays.sort(order, 0, count);
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
