package dev.strata.prefill;

import dev.strata.expert.ArenaLayout;
import java.lang.foreign.MemorySegment;

/** Where the planner of a stream finds blobs. */
public interface BlobPlaces {
    ArenaLayout layout();

    /** Whether the blob lies in device memory for as long as the stream runs. */
    boolean isResident(int layer, int expert);

    /** Number of the registered range that holds the blob, -1 when it has to be staged. Runs inside one range are copied at once. */
    int pinnedRange(int layer, int expert);

    /** Bytes of a layer in registered memory, for direct copies. */
    MemorySegment direct(int layer, long offset, long bytes);

    /** Whether staged runs may be cut anywhere, or only between blobs. */
    boolean piecesAllowed();
}
