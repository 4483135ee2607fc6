package dev.strata.api;

/** Receives the deltas of one request, one at a time, in order. Must not wait: the thread that uses the model calls it. */
@FunctionalInterface
public interface DeltaListener {
    void onDelta(Delta delta);

    /**
     * Nothing more comes at this moment, to this listener or to others that were told things together with it. What was only kept so far should go on its way: waking
     * somebody for each delta would cost more than the deltas do.
     */
    default void onPause() {}
}
