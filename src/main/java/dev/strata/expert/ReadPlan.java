package dev.strata.expert;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Merges wanted slices into few large requests. A pure function. */
final class ReadPlan {
    /** Gaps below this are read along. */
    static final long MOST_GAP = 1 << 20;

    /** Largest request. */
    static final long MOST_REQUEST = 32 << 20;

    /** Smaller slices are merged and copied, which costs less than a request of their own. */
    static final long LEAST_STRAIGHT = 256 << 10;

    /** A slice and where its bytes go. */
    record Wanted(FileSlice slice, MemorySegment target, long targetOffset) {}

    /**
     * One read: aligned bytes of a file that cover some wanted slices.
     *
     * @param straight whether they are one slice that can be read to where it goes
     */
    record Request(int file, long offset, long bytes, List<Wanted> parts, boolean straight) {}

    private ReadPlan() {}

    /**
     * The requests for {@code wanted}, by file and offset.
     *
     * @param alignments alignment of every file
     */
    static List<Request> merge(List<Wanted> wanted, int[] alignments) {
        List<Wanted> sorted = new ArrayList<>(wanted);
        sorted.sort(Comparator.<Wanted>comparingInt(part -> part.slice().file())
                .thenComparingLong(part -> part.slice().offset()));
        List<Request> requests = new ArrayList<>();
        List<Wanted> parts = new ArrayList<>();
        int file = -1;
        long start = 0;
        long end = 0;
        for (Wanted part : sorted) {
            FileSlice slice = part.slice();
            if (straight(part, alignments[slice.file()])) {
                requests.add(new Request(slice.file(), slice.offset(), slice.bytes(), List.of(part), true));
                continue;
            }
            long to = slice.offset() + slice.bytes();
            boolean joins = slice.file() == file
                    && slice.offset() - end < MOST_GAP
                    && Math.max(end, to) - start <= MOST_REQUEST;
            if (!joins) {
                add(requests, file, start, end, parts, alignments);
                parts = new ArrayList<>();
                file = slice.file();
                start = slice.offset();
                end = to;
            }
            end = Math.max(end, to);
            parts.add(part);
        }
        add(requests, file, start, end, parts, alignments);
        return requests;
    }

    /** Whether a slice is whole blocks, in the file and in memory, so that nothing has to be copied. */
    private static boolean straight(Wanted part, int unit) {
        FileSlice slice = part.slice();
        return unit > 1
                && slice.bytes() >= LEAST_STRAIGHT
                && slice.bytes() <= MOST_REQUEST
                && slice.offset() % unit == 0
                && slice.bytes() % unit == 0
                && part.target().isNative()
                && (part.target().address() + part.targetOffset()) % unit == 0;
    }

    private static void add(
            List<Request> requests, int file, long start, long end, List<Wanted> parts, int[] alignments) {
        if (parts.isEmpty()) {
            return;
        }
        long unit = alignments[file];
        long from = start / unit * unit;
        requests.add(new Request(file, from, Math.ceilDiv(end - from, unit) * unit, parts, false));
    }
}
