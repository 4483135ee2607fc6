package dev.strata.model;

import dev.strata.device.Batch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Cuts passes into smaller ones. */
final class BatchParts {
    private static final int[] NO_HISTORY = {};

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

    /** The rows of a pass but the last one of every segment; null when there are none. */
    static @Nullable Batch leading(Batch batch) {
        List<Batch.Segment> segments = new ArrayList<>();
        int[] tokens = new int[batch.rows()];
        int row = 0;
        for (Batch.Segment segment : batch.segments()) {
            int rows = segment.rows() - 1;
            if (rows > 0) {
                segments.add(new Batch.Segment(
                        row, rows, segment.past(), segment.pages(), segment.slot(), segment.history()));
                System.arraycopy(batch.tokens(), segment.firstRow(), tokens, row, rows);
                row += rows;
            }
        }
        return row == 0 ? null : new Batch(Arrays.copyOf(tokens, row), segments, false);
    }

    /** The last row of every segment of a pass, to follow that of {@link #leading}. */
    static Batch last(Batch batch) {
        int[] rows = batch.lastRows();
        List<Batch.Segment> segments = new ArrayList<>();
        for (int s = 0; s < rows.length; s++) {
            Batch.Segment segment = batch.segments().get(s);
            int skipped = segment.rows() - 1;
            segments.add(new Batch.Segment(
                    s, 1, segment.past() + skipped, segment.pages(), segment.slot(), history(batch, segment, skipped)));
        }
        return new Batch(select(batch.tokens(), rows), segments, false);
    }

    /** One row for every segment, {@code steps} positions behind its last one; its token is not known yet. */
    static Batch behind(Batch batch, int steps) {
        List<Batch.Segment> segments = new ArrayList<>();
        for (Batch.Segment segment : batch.segments()) {
            int past = segment.past() + segment.rows() - 1 + steps;
            segments.add(new Batch.Segment(segments.size(), 1, past, segment.pages(), segment.slot(), NO_HISTORY));
        }
        return new Batch(new int[segments.size()], segments, false);
    }

    /** The values at {@code places}. */
    static int[] select(int[] values, int[] places) {
        int[] selected = new int[places.length];
        for (int i = 0; i < places.length; i++) {
            selected[i] = values[places[i]];
        }
        return selected;
    }

    private static int[] history(Batch batch, Batch.Segment segment, int skipped) {
        int known = segment.history().length;
        int[] history = Arrays.copyOf(segment.history(), known + skipped);
        System.arraycopy(batch.tokens(), segment.firstRow(), history, known, skipped);
        return history;
    }
}
