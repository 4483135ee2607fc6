package dev.strata.cpu;

import dev.strata.format.QuantType;

/**
 * The form of a matrix in memory.
 *
 * @param bytes its size in this form
 * @param packed whether it is packed by the kernels, or as stored
 */
record MatrixForm(QuantType type, int outputs, int inputs, long bytes, boolean packed) {
    static MatrixForm stored(QuantType type, int outputs, int inputs) {
        return new MatrixForm(type, outputs, inputs, outputs * type.bytes(inputs), false);
    }

    /** How the kernels are to read it: the id of its type, or that of its packed form. */
    int kind() {
        return packed ? PackedBuffer.PACKED + type.id() : type.id();
    }
}
