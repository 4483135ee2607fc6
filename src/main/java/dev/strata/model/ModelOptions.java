package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.device.KvFormat;

/**
 * What a loaded model makes room for.
 *
 * @param maxRows most token rows of one pass
 * @param pages key-value pages of {@value Batch#PAGE} tokens, shared by all sequences
 * @param slots recurrent states, one a sequence (and one a checkpoint)
 * @param draftLayer whether the draft (MTP) layer is loaded where the model has one
 * @param hiddenNorm how the draft layer norms several residual streams
 */
public record ModelOptions(int maxRows, int pages, int slots, KvFormat kv, boolean draftLayer, HiddenNorm hiddenNorm) {
    /** With the hidden norm that checkpoints are published for. */
    public ModelOptions(int maxRows, int pages, int slots, KvFormat kv, boolean draftLayer) {
        this(maxRows, pages, slots, kv, draftLayer, HiddenNorm.WHOLE);
    }

    /** The same with another reading of the draft layer's norm. */
    public ModelOptions withHiddenNorm(HiddenNorm norm) {
        return new ModelOptions(maxRows, pages, slots, kv, draftLayer, norm);
    }

    /** The same with passes of another size. */
    public ModelOptions withMaxRows(int rows) {
        return new ModelOptions(rows, pages, slots, kv, draftLayer, hiddenNorm);
    }

    public ModelOptions {
        if (maxRows < 1 || pages < 1 || slots < 1) {
            throw new IllegalArgumentException(
                    "a model needs room: rows " + maxRows + ", pages " + pages + ", slots " + slots);
        }
    }
}
