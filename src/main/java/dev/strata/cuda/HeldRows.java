package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** Copies the rows of a held pass to where its replay finds them, in one launch. */
final class HeldRows {
    private final Launcher launcher;
    private final Kernel keep;

    HeldRows(Launcher launcher, Kernels kernels) {
        this.launcher = launcher;
        this.keep = kernels.chained("keep_values", 0);
    }

    void keep(Tensor rows, Buffer to) {
        keep(rows, to, null, null, null, null);
    }

    /** Row r of the pass becomes row r of each target. */
    void keep(
            Tensor first,
            Buffer toFirst,
            @Nullable Tensor second,
            @Nullable Buffer toSecond,
            @Nullable Tensor third,
            @Nullable Buffer toThird) {
        launcher.begin();
        long count = add(first, toFirst) + add(second, toSecond) + add(third, toThird);
        launcher.launchOver(keep, count);
    }

    private long add(@Nullable Tensor from, @Nullable Buffer to) {
        long count = from == null ? 0 : (long) from.rows() * from.columns();
        launcher.tensor(from).address(to == null ? 0 : to.address()).address(count);
        return count;
    }
}
