package dev.strata.cuda;

import dev.strata.device.Tensor;

/**
 * The row of activations that a kernel leaves as integers beside its float32 values, for a product right behind it: 16-bit integers as activations.cuh has them, then a
 * float32 factor and a float32 sum of every group of 32 columns.
 */
final class IntegerRow {
    private static final int GROUP = 32;

    private final Launcher launcher;
    private final Scratch scratch;
    private long of;
    private long launch;

    IntegerRow(Launcher launcher, Scratch scratch) {
        this.launcher = launcher;
        this.scratch = scratch;
    }

    /** Where the next launch, which makes {@code out}, leaves its integers; 0: nowhere, for what is not one row of whole groups. */
    long madeWith(Tensor out) {
        if (out.rows() != 1 || out.columns() % GROUP != 0) {
            of = 0;
            return 0;
        }
        of = out.address();
        launch = launcher.launches() + 1;
        return address(out.columns());
    }

    /** The integers of {@code in}; 0 unless the launch before this one left them. */
    long before(Tensor in) {
        return of != 0 && of == in.address() && in.rows() == 1 && launch == launcher.launches()
                ? address(in.columns())
                : 0;
    }

    private long address(int columns) {
        return scratch.address("a row as integers", 2L * columns + 8L * (columns / GROUP));
    }
}
