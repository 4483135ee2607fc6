package dev.strata.expert;

import dev.strata.memory.Bytes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * How one read fills its parts in place: whole blocks go to where they belong; blocks at a part's edges, which hold bytes of others too,
 * go to scratch memory and their bytes are copied from there. A pure function.
 *
 * @param targets one behind the other they take all bytes of the request
 * @param edges what has to be copied afterwards
 */
record Scatter(MemorySegment[] targets, List<Edge> edges) {
    /** Bytes of scratch memory that belong to a part. */
    record Edge(MemorySegment scratch, MemorySegment target, long targetOffset) {
        void copy() {
            MemorySegment.copy(scratch, 0, target, targetOffset, scratch.byteSize());
        }
    }

    /** Scratch bytes that a request needs: both edges of every part. */
    static long scratchBytes(ReadPlan.Request request, int unit) {
        return 2L * unit * request.parts().size();
    }

    /** @param scratch aligned memory of {@link #scratchBytes} */
    static Scatter of(ReadPlan.Request request, int unit, MemorySegment scratch) {
        List<MemorySegment> targets = new ArrayList<>();
        List<Edge> edges = new ArrayList<>();
        long at = request.offset();
        long used = 0;
        for (ReadPlan.Wanted part : request.parts()) {
            long first = Bytes.roundUp(part.from(), unit);
            long last = part.to() / unit * unit;
            // What the last part left in its last block lies before this, at the end of the scratch memory used.
            if (first > at) {
                targets.add(scratch.asSlice(used, first - at));
                used += first - at;
                at = first;
            }
            if (first > part.from()) {
                long head = first - part.from();
                edges.add(new Edge(scratch.asSlice(used - head, head), part.target(), part.targetOffset()));
            }
            targets.add(part.target().asSlice(part.targetOffset() + first - part.from(), last - first));
            at = last;
            if (part.to() > last) {
                long tail = part.to() - last;
                edges.add(
                        new Edge(scratch.asSlice(used, tail), part.target(), part.targetOffset() + last - part.from()));
            }
        }
        long end = request.offset() + request.bytes();
        if (end > at) {
            targets.add(scratch.asSlice(used, end - at));
        }
        return new Scatter(targets.toArray(MemorySegment[]::new), edges);
    }

    void copyEdges() {
        edges.forEach(Edge::copy);
    }
}
