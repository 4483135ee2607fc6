package dev.strata.device;

import java.util.List;

/**
 * One pass through the model: token rows of one or several sequences, in segments. All operations of the pass read positions,
 * pages and state slots from here.
 *
 * @param tokens token id of every row
 * @param segments consecutive, covering all rows
 * @param hold when true, recurrent, convolution and n-gram states keep their value from before the pass and the inputs of the
 *     recurrences are remembered, so that {@link Ops#commit} can replay the accepted rows (speculation)
 */
public record Batch(int[] tokens, List<Segment> segments, boolean hold) {
    /** Tokens in one page of the key-value cache. */
    public static final int PAGE = 64;

    /** Rows that a held pass may have for one sequence. */
    public static final int MAX_WINDOW = 8;

    /**
     * The rows of one sequence.
     *
     * @param firstRow index of its first row in the pass
     * @param rows number of rows, at least 1
     * @param past tokens of the sequence that came before; row {@code i} of the segment has position {@code past + i}
     * @param pages physical page of every {@value Batch#PAGE} positions, enough for {@code past + rows}
     * @param slot index of the sequence's recurrent, convolution and n-gram states
     * @param history the tokens just before {@code past}, newest last (what n-gram hashing needs); shorter at the start
     */
    public record Segment(int firstRow, int rows, int past, int[] pages, int slot, int[] history) {
        public Segment {
            if (rows < 1 || past < 0 || pages.length * (long) PAGE < (long) past + rows) {
                throw new IllegalArgumentException(
                        "segment of " + rows + " rows after " + past + " tokens with " + pages.length + " pages");
            }
        }
    }

    public Batch {
        int row = 0;
        for (Segment segment : segments) {
            if (segment.firstRow() != row) {
                throw new IllegalArgumentException(
                        "segment starts at row " + segment.firstRow() + " instead of " + row);
            }
            if (hold && segment.rows() > MAX_WINDOW) {
                throw new IllegalArgumentException(
                        "a held pass takes at most " + MAX_WINDOW + " rows, not " + segment.rows());
            }
            row += segment.rows();
        }
        if (row != tokens.length) {
            throw new IllegalArgumentException("segments cover " + row + " of " + tokens.length + " rows");
        }
    }

    /** Tokens of a text of their own, for operations that look at nothing else. */
    public static Batch ofTokens(int[] tokens) {
        int[] pages = new int[(tokens.length + PAGE - 1) / PAGE];
        return new Batch(tokens, List.of(new Segment(0, tokens.length, 0, pages, 0, new int[0])), false);
    }

    public int rows() {
        return tokens.length;
    }

    /** The last row of every segment. */
    public int[] lastRows() {
        int[] rows = new int[segments.size()];
        for (int s = 0; s < rows.length; s++) {
            rows[s] = segments.get(s).firstRow() + segments.get(s).rows() - 1;
        }
        return rows;
    }
}
