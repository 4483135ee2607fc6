package dev.strata.cuda;

/**
 * Where a block of a decode kernel keeps rows of activations in its shared memory, and the sums of their groups behind them.
 *
 * @param sumsAt offset of the sums, 0 where none are kept
 * @param end offset of what comes behind, a multiple of 128 bytes
 */
record ActivationRoom(int sumsAt, int end) {
    /**
     * @param at offset of the first row
     * @param sums whether weights have an offset, for which sums are needed
     */
    static ActivationRoom of(int at, int rows, int columns, boolean sums) {
        int behind = at + 2 * rows * DecodeShapes.stride(columns);
        return new ActivationRoom(
                sums ? behind : 0, DecodeShapes.aligned(behind + (sums ? 4 * rows * DecodeShapes.groups(columns) : 0)));
    }
}
