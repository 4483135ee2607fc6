package dev.strata.cuda;

import java.lang.foreign.MemorySegment;
import org.bytedeco.javacpp.Pointer;

/** Off-heap memory as the presets want it, without a copy. Keeps nothing alive. */
final class SegmentPointer extends Pointer {
    SegmentPointer(MemorySegment segment) {
        this(segment.address(), segment.byteSize());
    }

    SegmentPointer(long start, long bytes) {
        super((Pointer) null);
        address = start;
        capacity = bytes;
        limit = bytes;
    }
}
