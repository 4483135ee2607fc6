package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertView;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/** Takes blobs apart. */
public final class BlobViews {
    private static final java.lang.foreign.ValueLayout.OfFloat FLOAT =
            JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private BlobViews() {}

    /** The matrices of a whole blob that starts {@code blob}. */
    public static ExpertView of(ExpertLayout layout, MemorySegment blob) {
        long tail = layout.tailOffset();
        boolean scaled = layout.scaled();
        return new ExpertView(
                blob.asSlice(0, layout.gateBytes()),
                blob.asSlice(layout.upOffset(), layout.upBytes()),
                blob.asSlice(layout.downOffset(), layout.downBytes()),
                scaled ? blob.get(FLOAT, tail) : 1f,
                scaled ? blob.get(FLOAT, tail + 4) : 1f,
                scaled ? blob.get(FLOAT, tail + 8) : 1f);
    }

    /** Writes the tail of a scaled blob. */
    public static void writeTail(ExpertLayout layout, MemorySegment blob, float gate, float up, float down) {
        long tail = layout.tailOffset();
        blob.set(FLOAT, tail, gate);
        blob.set(FLOAT, tail + 4, up);
        blob.set(FLOAT, tail + 8, down);
        blob.set(FLOAT, tail + 12, 0f);
    }
}
