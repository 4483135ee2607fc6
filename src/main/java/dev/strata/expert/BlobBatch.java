package dev.strata.expert;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertSource;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Some blobs of a longer list that another source has to copy, as one batch. */
final class BlobBatch {
    private final int[] experts;
    private final MemorySegment[] targets;
    private final BlobParts @Nullable [] parts;
    private int count;

    /** @param inParts whether blobs may lie in parts */
    BlobBatch(int most, boolean inParts) {
        experts = new int[most];
        targets = new MemorySegment[most];
        parts = inParts ? new BlobParts[most] : null;
    }

    /** Adds the blob at {@code index} of the list. */
    void add(int index, int[] fromExperts, MemorySegment[] fromTargets, BlobParts @Nullable [] fromParts) {
        if (parts != null && fromParts != null) {
            parts[count] = fromParts[index];
        }
        experts[count] = fromExperts[index];
        targets[count++] = fromTargets[index];
    }

    /** Copies what was added; {@code turn} as {@link ExpertSource#copyInParts} has it. */
    void copy(ExpertSource source, int layer, long turn) {
        if (count > 0 && parts != null) {
            source.copyInParts(layer, experts, count, targets, parts, turn);
        } else if (count > 0) {
            source.copyBlobs(layer, experts, count, targets);
        }
    }
}
