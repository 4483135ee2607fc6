package dev.strata.device;

/**
 * State of one layer that lives on a backend: key-value pages, index keys, recurrent or convolution rows. Backends give their own
 * types; the model only passes them back.
 */
public interface LayerState extends AutoCloseable {
    /** Device bytes held. */
    long bytes();

    @Override
    void close();

    /** What grows with the text, in pages of {@value Batch#PAGE} tokens. */
    interface Paged extends LayerState {
        StateUnits pages();
    }

    /** What has one size whatever the text, a slot for each sequence. */
    interface Slotted extends LayerState {
        StateUnits slots();
    }

    /** Paged keys and values of one attention layer. */
    interface Kv extends Paged {}

    /** Paged raw index keys and pooled block keys of one sparse attention layer. */
    interface Index extends Paged {}

    /** Convolution rows and delta-rule matrices of one DeltaNet layer, one set a slot. */
    interface Recurrent extends Slotted {}

    /** Convolution rows of the n-gram layer, one set a slot. */
    interface Ngram extends Slotted {}

    /** Blocks chosen for every row of a pass by {@link Ops#selectBlocks}. */
    interface Selection extends LayerState {}
}
