package dev.strata.model;

import dev.strata.device.Batch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Cuts passes into smaller ones. */
final class BatchParts {
    private BatchParts() {}

    /** The rows {@code from .. to - 1} of a pass as a pass of its own, to follow that of the rows before. */
    static Batch of(Batch batch, int from, int to) {
        if (from == 0 && to == batch.rows()) {
            return batch;
        }
        List<Batch.Segment> segments = new ArrayList<>();
        for (Batch.Segment segment : batch.segments()) {
            int first = Math.max(from, segment.firstRow());
            int end = Math.min(to, segment.firstRow() + segment.rows());
            if (first < end) {
                int skipped = first - segment.firstRow();
                segments.add(new Batch.Segment(
                        first - from,
                        end - first,
                        segment.past() + skipped,
                        segment.pages(),
                        segment.slot(),
                        history(batch, segment, skipped)));
            }
        }
        return new Batch(Arrays.copyOfRange(batch.tokens(), from, to), segments, batch.hold());
    }

    private static int[] history(Batch batch, Batch.Segment segment, int skipped) {
        int known = segment.history().length;
        int[] history = Arrays.copyOf(segment.history(), known + skipped);
        System.arraycopy(batch.tokens(), segment.firstRow(), history, known, skipped);
        return history;
    }
}
