package dev.strata.cuda;

import dev.strata.format.QuantType;

/**
 * How the kernels of gemm_stored.cu bring rows of a type to shared memory.
 *
 * @param columns that come at once, as many as their bytes allow
 * @param bytes of these
 * @param slot bytes from one row to the next in shared memory
 */
record StoredPiece(int columns, int bytes, int slot) {
    /** Stored rows of one warp: 16 of gate and 16 of up where values are gated. */
    static final int OUTPUTS = 32;

    private static final int[] COLUMNS = {256, 128, 64, 32};
    private static final int MOST_BYTES = 192;

    static StoredPiece of(QuantType type) {
        int columns = type.blockElements();
        for (int candidate : COLUMNS) {
            if (candidate % type.blockElements() == 0 && type.bytes(candidate) <= MOST_BYTES) {
                columns = candidate;
                break;
            }
        }
        int bytes = Math.toIntExact(type.bytes(columns));
        return new StoredPiece(columns, bytes, DecodeShapes.slot(bytes));
    }

    /** Shared memory of a block of so many warps, each with a ring of so many pieces. */
    int sharedBytes(int warps, int pieces) {
        return warps * pieces * OUTPUTS * slot;
    }

    /** Gives a kernel what it has to know about pieces. */
    Launcher arguments(Launcher launcher) {
        return launcher.integer(slot).integer(columns).integer(bytes);
    }
}
