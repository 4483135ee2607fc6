package dev.strata.api;

/** Receives the deltas of one request, one at a time, in order. Must not block: it is called on the engine's delivery thread. */
@FunctionalInterface
public interface DeltaListener {
    void onDelta(Delta delta);
}
