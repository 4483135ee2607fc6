package dev.strata.expert;

import dev.strata.memory.Bytes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Merges wanted slices into few large requests. A pure function. */
final class ReadPlan {
    /** Gaps below this are read along. */
    static final long MOST_GAP = 1 << 20;

    /** Largest request. */
    static final long MOST_REQUEST = 32 << 20;

    /** Smaller slices are merged and copied, which costs less than a request of their own. */
    static final long LEAST_IN_PLACE = 64 << 10;

    /** A slice and where its bytes go. */
    record Wanted(FileSlice slice, MemorySegment target, long targetOffset) {
        long from() {
            return slice.offset();
        }

        long to() {
            return slice.offset() + slice.bytes();
        }

        /** Whether whole blocks of the file can be read to where they go; slices below a block, which is large on some network drives, may hold none. */
        private boolean inPlace(int unit) {
            return slice.bytes() >= Math.max(LEAST_IN_PLACE, unit)
                    && slice.bytes() <= MOST_REQUEST
                    && target.isNative()
                    && (target.address() + targetOffset - slice.offset()) % unit == 0;
        }
    }

    /**
     * One read: aligned bytes of a file that cover some wanted slices.
     *
     * @param inPlace whether the slices' blocks are read to where they go; else they are copied there
     */
    record Request(int file, long offset, long bytes, List<Wanted> parts, boolean inPlace) {
        /** Bytes from the start that the parts reach. */
        long needed() {
            long end = 0;
            for (Wanted part : parts) {
                end = Math.max(end, part.to());
            }
            return end - offset;
        }
    }

    private final int[] alignments;
    private final List<Request> requests = new ArrayList<>();
    private @Nullable Open open;

    /** The request that still grows. */
    private static final class Open {
        final int file;
        final int unit;
        final boolean inPlace;
        final long start;
        final List<Wanted> parts = new ArrayList<>();
        long end;

        Open(Wanted first, int unit) {
            file = first.slice().file();
            this.unit = unit;
            inPlace = first.inPlace(unit);
            start = first.from();
            end = start;
        }

        boolean takes(Wanted next) {
            return next.slice().file() == file
                    && next.inPlace(unit) == inPlace
                    && (inPlace ? follows(next.from()) : next.from() - end < MOST_GAP)
                    && Math.max(end, next.to()) - start <= MOST_REQUEST;
        }

        /** Whether no whole block lies between, since blocks of a gap have no place to go to. */
        private boolean follows(long from) {
            return from >= end && from / unit * unit <= Bytes.roundUp(end, unit);
        }

        void add(Wanted part) {
            parts.add(part);
            end = Math.max(end, part.to());
        }

        Request close() {
            long from = start / unit * unit;
            return new Request(file, from, Bytes.roundUp(end - from, unit), parts, inPlace);
        }
    }

    private ReadPlan(int[] alignments) {
        this.alignments = alignments;
    }

    /**
     * The requests for {@code wanted}, by file and offset.
     *
     * @param alignments alignment of every file
     */
    static List<Request> merge(List<Wanted> wanted, int[] alignments) {
        List<Wanted> sorted = new ArrayList<>(wanted);
        sorted.sort(Comparator.<Wanted>comparingInt(part -> part.slice().file()).thenComparingLong(Wanted::from));
        ReadPlan plan = new ReadPlan(alignments);
        sorted.forEach(plan::add);
        plan.finish();
        return plan.requests;
    }

    private void add(Wanted part) {
        Open now = open;
        if (now == null || !now.takes(part)) {
            finish();
            now = new Open(part, alignments[part.slice().file()]);
            open = now;
        }
        now.add(part);
    }

    private void finish() {
        if (open != null) {
            requests.add(open.close());
        }
    }
}
