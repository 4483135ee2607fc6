package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;

/** Softmax over all experts, the best of them, weights renormalised and scaled. */
final class Router {
    private Router() {}

    static void route(RouterShape shape, Tensor logits, Routing routing) {
        float[] weights = new float[shape.used()];
        int[] ids = new int[shape.used()];
        for (int row = 0; row < logits.rows(); row++) {
            choose(shape, Floats.load(logits, row, 1), ids, weights);
            for (int i = 0; i < ids.length; i++) {
                routing.ids().host().setAtIndex(JAVA_INT, (long) row * shape.used() + i, ids[i]);
            }
            Floats.store(weights, 0, weights.length, routing.weights(), row);
        }
    }

    private static void choose(RouterShape shape, float[] logits, int[] ids, float[] weights) {
        double largest = Double.NEGATIVE_INFINITY;
        for (float logit : logits) {
            largest = Math.max(largest, logit);
        }
        double sum = 0;
        double[] probabilities = new double[logits.length];
        for (int expert = 0; expert < logits.length; expert++) {
            probabilities[expert] = Math.exp(logits[expert] - largest);
            sum += probabilities[expert];
        }
        double chosen = 0;
        boolean[] taken = new boolean[logits.length];
        for (int i = 0; i < shape.used(); i++) {
            int best = -1;
            for (int expert = 0; expert < logits.length; expert++) {
                if (!taken[expert] && (best < 0 || logits[expert] > logits[best])) {
                    best = expert;
                }
            }
            taken[best] = true;
            ids[i] = best;
            chosen += probabilities[best];
        }
        double divisor = shape.renormalise() ? chosen : sum;
        for (int i = 0; i < ids.length; i++) {
            weights[i] = (float) (probabilities[ids[i]] / divisor * shape.scale());
        }
    }
}
