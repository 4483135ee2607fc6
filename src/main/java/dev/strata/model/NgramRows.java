package dev.strata.model;

import dev.strata.device.Batch;
import dev.strata.model.ngram.NgramHash;

/** Which rows of the n-gram table tokens read: {@link #heads} each. */
record NgramRows(NgramHash hash) {
    int heads() {
        return hash.heads();
    }

    /** Of positions {@code from} to {@code to} of a text. */
    long[] of(int[] text, int from, int to) {
        long[] rows = new long[(to - from) * heads()];
        for (int position = from; position < to; position++) {
            hash.rows(text, position, rows, (position - from) * heads());
        }
        return rows;
    }

    /** Of all tokens of a pass. */
    long[] of(Batch batch) {
        long[] rows = new long[batch.rows() * heads()];
        for (Batch.Segment segment : batch.segments()) {
            int[] history = segment.history();
            int known = Math.min(history.length, hash.historyTokens());
            int[] tokens = new int[known + segment.rows()];
            System.arraycopy(history, history.length - known, tokens, 0, known);
            System.arraycopy(batch.tokens(), segment.firstRow(), tokens, known, segment.rows());
            for (int i = 0; i < segment.rows(); i++) {
                hash.rows(tokens, known + i, rows, (segment.firstRow() + i) * heads());
            }
        }
        return rows;
    }

    /** Whether the segment's tokens, and those before that their rows depend on, are the text's at its positions. */
    boolean areOf(int[] text, Batch batch, Batch.Segment segment) {
        int past = segment.past();
        int[] history = segment.history();
        int known = Math.min(past, hash.historyTokens());
        int first = segment.firstRow();
        return past + segment.rows() <= text.length
                && history.length >= known
                && same(text, past - known, history, history.length - known, known)
                && same(text, past, batch.tokens(), first, segment.rows());
    }

    private static boolean same(int[] one, int from, int[] other, int otherFrom, int count) {
        return java.util.Arrays.equals(one, from, from + count, other, otherFrom, otherFrom + count);
    }
}
