package dev.strata.cpu;

import dev.strata.device.Batch;

/** A state that remembers the inputs of a held pass. */
interface HeldState {
    /** Advances the slot of {@code segment} by the first {@code accepted} rows of the pass. */
    void commit(long context, Batch.Segment segment, int accepted);
}
