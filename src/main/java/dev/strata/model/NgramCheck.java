package dev.strata.model;

import dev.strata.format.ModelFormatException;
import dev.strata.model.Hyperparameters.Ngram;
import java.nio.file.Path;

/** Consistency of the n-gram layer's numbers, whatever container they came from. */
final class NgramCheck {
    private NgramCheck() {}

    static Ngram check(Path source, Ngram ngram, int layers) {
        require(source, ngram.layer() >= 0 && ngram.layer() < layers, "layer " + ngram.layer() + " of " + layers);
        require(source, ngram.size() >= 2, "n-grams of " + ngram.size() + " tokens");
        require(
                source,
                ngram.multipliers().size() == ngram.size(),
                ngram.multipliers().size() + " multipliers for n-grams of up to " + ngram.size() + " tokens");
        require(
                source,
                ngram.offsets().size() == ngram.heads() && ngram.sizes().size() == ngram.heads(),
                ngram.offsets().size() + " offsets and " + ngram.sizes().size() + " sizes for " + ngram.heads()
                        + " heads");
        require(
                source,
                ngram.sizes().stream().allMatch(size -> size > 0)
                        && ngram.offsets().stream().allMatch(offset -> offset >= 0),
                "head sizes " + ngram.sizes() + " at " + ngram.offsets());
        return ngram;
    }

    private static void require(Path source, boolean holds, String what) {
        if (!holds) {
            throw new ModelFormatException(source + ": the n-gram layer is inconsistent: " + what);
        }
    }
}
