package dev.strata.model.ngram;

import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/** Splits many rows among threads; few, or those for memory of one thread, stay on the calling one. */
final class RowParts {
    private static final int PARALLEL_ROWS = 512;
    private static final int PART_ROWS = 128;
    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private RowParts() {}

    /** Work on rows {@code from} to {@code to}. */
    interface Body {
        void run(int part, int from, int to);
    }

    static boolean shared(MemorySegment target) {
        return target.isAccessibleBy(OTHER_THREAD);
    }

    static int parts(int count) {
        return Math.ceilDiv(count, PART_ROWS);
    }

    static void run(int count, boolean shared, Body body) {
        IntStream parts = IntStream.range(0, parts(count));
        (shared && count >= PARALLEL_ROWS ? parts.parallel() : parts)
                .forEach(part -> body.run(part, part * PART_ROWS, Math.min(count, (part + 1) * PART_ROWS)));
    }
}
