package dev.strata.cuda;

import dev.strata.device.Weight;
import dev.strata.format.QuantType;

/** Where the kernels of decode.cu keep stored rows and activations in shared memory. */
final class DecodeShapes {
    /** Activation rows of one tile. */
    static final int ROWS = 8;

    /** Rows of a pass that these kernels take: in more, tiles of prompt kernels are fuller. */
    static final int MOST_ROWS = 16;

    /** Stored rows of one tile. */
    static final int OUTPUTS = 16;

    private static final int PIECE_BYTES = 80 << 10;

    private DecodeShapes() {}

    /** Values of two bytes from one activation row to the next: rows of a tile lie in different banks. */
    static int stride(int columns) {
        return Math.ceilDiv(columns, 64) * 64 + 16;
    }

    /** Bytes from one stored row to the next: room for any alignment, an odd number of 16 bytes. */
    static int slot(long rowBytes) {
        long sixteens = Math.ceilDiv(rowBytes + 15, 16L);
        return Math.toIntExact(16 * (sixteens | 1));
    }

    static int tileBytes(long rowBytes) {
        return OUTPUTS * slot(rowBytes);
    }

    /** Columns that a tile takes at once: all, or as many groups of 256 as fit. */
    static int pieceColumns(Weight weight) {
        if (tileBytes(weight.rowBytes()) <= PIECE_BYTES) {
            return weight.inputs();
        }
        int most = PIECE_BYTES / OUTPUTS - 48;
        return (int) Math.max(1, most / weight.type().bytes(256)) * 256;
    }

    static long pieceBytes(Weight weight) {
        int columns = pieceColumns(weight);
        return columns >= weight.inputs() ? weight.rowBytes() : weight.type().bytes(columns);
    }

    static int groups(int columns) {
        return Math.ceilDiv(columns, 32);
    }

    /** Whether a type's weights have an offset, for which sums of activations are needed. */
    static boolean hasOffset(QuantType type) {
        return switch (type) {
            case Q4_1, Q5_1, Q4_K, Q5_K -> true;
            default -> false;
        };
    }

    /** Whether products with a type are made of bytes, exactly: the rule of activations.cuh. */
    static boolean exact(QuantType type) {
        return switch (type) {
            case Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, Q4_K, Q5_K, IQ4_XS -> true;
            default -> false;
        };
    }

    static int aligned(int bytes) {
        return Math.ceilDiv(bytes, 128) * 128;
    }
}
