package dev.strata.expert;

/** What has to happen to the memory of a layer before readers fill it. */
@FunctionalInterface
public interface LayerGate {
    /** Lets everybody through. */
    LayerGate OPEN = layer -> {};

    /** A reader is about to write the first blobs of its next piece, which are of {@code layer}; any thread, layers never fall. */
    void enter(int layer);

    /** The load has failed and no reader is left: the memory goes away. */
    default void giveUp() {}
}
