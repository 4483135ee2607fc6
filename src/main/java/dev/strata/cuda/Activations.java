package dev.strata.cuda;

import dev.strata.device.Tensor;

/**
 * Activations rounded to float16 for the tensor cores, rows padded with zeros to a multiple of {@value #DEPTH} columns. Products that
 * follow one another with the same input share them, until something writes that input.
 */
final class Activations {
    /** Columns that a step of a tensor-core product takes. */
    static final int DEPTH = 64;

    private final Launcher launcher;
    private final Scratch scratch;
    private final Kernel round;
    private long source;
    private long sourceBytes;
    private int columns;
    private int generation = -1;

    Activations(Launcher launcher, Scratch scratch, Kernels kernels) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.round = kernels.get("round_rows");
    }

    static int padded(int columns) {
        return Math.ceilDiv(columns, DEPTH) * DEPTH;
    }

    /** Address of [rows, padded(columns)] float16 values of {@code in}. */
    long rounded(Tensor in) {
        long bytes = 2L * in.rows() * padded(in.columns());
        long address = scratch.address("rounded activations", bytes);
        boolean same = source == in.address()
                && sourceBytes == 4L * in.rows() * in.columns()
                && columns == in.columns()
                && generation == scratch.generation();
        if (!same) {
            launcher.begin()
                    .tensor(in)
                    .integer(in.rows())
                    .integer(in.columns())
                    .integer(padded(in.columns()))
                    .address(address)
                    .launchOver(round, (long) in.rows() * padded(in.columns()) / 2);
            source = in.address();
            sourceBytes = 4L * in.rows() * in.columns();
            columns = in.columns();
            generation = scratch.generation();
        }
        return address;
    }

    /** Tells that {@code out} gets new values. */
    void written(Tensor out) {
        long end = out.address() + 4L * out.rows() * out.columns();
        if (out.address() < source + sourceBytes && source < end) {
            forget();
        }
    }

    void forget() {
        source = 0;
        sourceBytes = 0;
    }
}
