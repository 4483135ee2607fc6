package dev.strata.api;

/** Receives the deltas of one request, one at a time, in order. Must not wait: the thread that uses the model calls it. */
@FunctionalInterface
public interface DeltaListener {
    void onDelta(Delta delta);
}
