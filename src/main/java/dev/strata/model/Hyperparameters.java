package dev.strata.model;

import dev.strata.device.AttentionShape;
import dev.strata.device.DeltaShape;
import dev.strata.device.IndexerShape;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All sizes of a model that its forward pass is built from, read from metadata alone.
 *
 * @param mixers kind of every layer's mixer, draft layers at the end
 * @param delta absent in models without DeltaNet layers
 * @param hyper absent in models with a plain residual
 * @param indexer absent in models with dense attention only
 * @param ngram absent in models without an n-gram layer
 */
public record Hyperparameters(
        ModelConfig config,
        List<Mixer> mixers,
        AttentionShape attention,
        @Nullable DeltaShape delta,
        Experts experts,
        @Nullable Hyper hyper,
        @Nullable IndexerShape indexer,
        @Nullable Ngram ngram) {

    /** What mixes tokens in a layer. */
    public enum Mixer {
        ATTENTION,
        DELTA_NET
    }

    /**
     * Routed and shared experts.
     *
     * @param sharedIntermediate 0 without a shared expert
     * @param renormalise whether the chosen weights are divided by their sum
     * @param scale factor on the weights
     */
    public record Experts(
            int count, int used, int intermediate, int sharedIntermediate, boolean renormalise, float scale) {}

    /** Gated residual streams. */
    public record Hyper(int streams, int lowRank) {}

    /**
     * The hashed n-gram embedding.
     *
     * @param layer zero-based layer before which it is added
     * @param size longest n-gram; the shortest is 2
     * @param headsPerSize table heads of every n-gram length
     * @param rowElements values in one table row
     * @param endToken cuts the context of the hash
     * @param multipliers one a token of the n-gram
     * @param offsets first table row of every head
     * @param sizes table rows of every head
     */
    public record Ngram(
            int layer,
            int size,
            int headsPerSize,
            int kernel,
            int rowElements,
            int endToken,
            List<Long> multipliers,
            List<Long> offsets,
            List<Long> sizes) {
        public int heads() {
            return headsPerSize * (size - 1);
        }

        /** Values of all heads of one token. */
        public int columns() {
            return heads() * rowElements;
        }
    }

    public int hidden() {
        return config.hidden();
    }
}
