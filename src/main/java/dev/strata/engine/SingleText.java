package dev.strata.engine;

import dev.strata.device.Batch;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** Passes over one text that has the model to itself: the first slot, and pages in their order. */
final class SingleText {
    /** A row of settings of {@link dev.strata.device.Picks}: no draw and no candidates, the likeliest token alone. */
    static final MemorySegment LIKELIEST =
            MemorySegment.ofArray(new float[] {1, -1, 0}).asReadOnly();

    private SingleText() {}

    /** Pages for so many tokens. */
    static int[] pages(int tokens) {
        int[] pages = new int[Math.ceilDiv(tokens, Batch.PAGE)];
        Arrays.setAll(pages, page -> page);
        return pages;
    }

    /** The {@code rows} tokens of {@code text} behind the first {@code past}. */
    static Batch batch(int[] text, int past, int rows, int[] pages) {
        int[] history = Arrays.copyOfRange(text, Math.max(0, past - Sequence.HISTORY), past);
        Batch.Segment segment = new Batch.Segment(0, rows, past, pages, 0, history);
        return new Batch(Arrays.copyOfRange(text, past, past + rows), List.of(segment), false);
    }
}
