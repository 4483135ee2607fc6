package dev.strata.synth;

import java.util.SplittableRandom;

/**
 * The choices that a made model's routers come to, without the model: an expert's score is a normal number for every (layer, token,
 * expert) less {@code skew * ln(rank + 1)}, its rank in the layer being drawn once. Tokens repeat: with probability {@code locality} a step's
 * token is one of the last 32, which is what brings experts back soon after their last use.
 */
public final class SkewedRouting {
    /** A token that comes again is one of so many last ones. */
    public static final int RECENT = 32;

    private final int layers;
    private final int experts;
    private final int used;
    private final double skew;
    private final double locality;
    private final SplittableRandom random;
    private final int[][] ranks;
    private final long[] recent = new long[RECENT];
    private int steps;

    public SkewedRouting(int layers, int experts, int used, double skew, double locality, long seed) {
        this.layers = layers;
        this.experts = experts;
        this.used = used;
        this.skew = skew;
        this.locality = locality;
        random = new SplittableRandom(seed);
        ranks = new int[layers][experts];
        for (int[] layer : ranks) {
            for (int i = 0; i < experts; i++) {
                int other = random.nextInt(i + 1);
                layer[i] = layer[other];
                layer[other] = i;
            }
        }
    }

    /** The experts of every layer in the next step, best first: {@code [layers][used]}. */
    public int[][] step() {
        boolean again = steps > 0 && random.nextDouble() < locality;
        long token = again
                ? recent[Math.floorMod(steps - 1 - random.nextInt(Math.min(steps, RECENT)), RECENT)]
                : random.nextLong();
        recent[steps++ % RECENT] = token;
        int[][] chosen = new int[layers][];
        for (int layer = 0; layer < layers; layer++) {
            chosen[layer] = best(layer, Mix.hash(token, layer));
        }
        return chosen;
    }

    private int[] best(int layer, long seed) {
        double[] scores = new double[experts];
        for (int expert = 0; expert < experts; expert++) {
            scores[expert] = Mix.normal(seed, expert) - skew * Math.log(ranks[layer][expert] + 1.0);
        }
        int[] best = new int[used];
        for (int i = 0; i < used; i++) {
            int top = 0;
            for (int expert = 1; expert < experts; expert++) {
                if (scores[expert] > scores[top]) {
                    top = expert;
                }
            }
            best[i] = top;
            scores[top] = Double.NEGATIVE_INFINITY;
        }
        return best;
    }
}
