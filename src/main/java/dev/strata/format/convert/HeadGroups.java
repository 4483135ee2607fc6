package dev.strata.format.convert;

/** Rows of Qwen3-Next's in_proj_qkvz: for each key head its query, its key, and the values and gates of its {@code repeats} value heads. */
record HeadGroups(int keyHeads, int repeats, int keyWidth, int valueWidth) {
    private long groupRows() {
        return 2L * keyWidth + 2L * repeats * valueWidth;
    }

    /** Where row {@code row} of the order queries, keys, values (all heads of each) stands. */
    long queryKeyValueRow(long row) {
        long keys = (long) keyHeads * keyWidth;
        if (row < 2 * keys) {
            long within = row % keys;
            return within / keyWidth * groupRows() + row / keys * keyWidth + within % keyWidth;
        }
        return valueRow(row - 2 * keys, 2L * keyWidth);
    }

    /** Where row {@code row} of the gates of all value heads stands. */
    long gateRow(long row) {
        return valueRow(row, 2L * keyWidth + (long) repeats * valueWidth);
    }

    private long valueRow(long row, long start) {
        long perGroup = (long) repeats * valueWidth;
        return row / perGroup * groupRows() + start + row % perGroup;
    }
}
