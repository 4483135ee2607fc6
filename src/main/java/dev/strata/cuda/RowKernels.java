package dev.strata.cuda;

import dev.strata.device.HyperWeights;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/** Launches the kernels of rows.cu. */
final class RowKernels {
    private final Launcher launcher;
    private final Scratch scratch;
    private final Products products;
    private final Kernel norm;
    private final Kernel add;
    private final Kernel repeat;
    private final Kernel concatenate;
    private final Kernel gather;
    private final Kernel gatherLast;
    private final Kernel hyperCombine;
    private final Kernel hyperInject;

    RowKernels(Launcher launcher, Scratch scratch, Kernels kernels, Products products) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.products = products;
        this.norm = kernels.chained("rms_norm", 0);
        this.add = kernels.chained("add_rows", 0);
        this.repeat = kernels.chained("repeat_rows", 0);
        this.concatenate = kernels.get("concatenate_rows");
        this.gather = kernels.chained("gather_rows", 0);
        this.gatherLast = kernels.chained("gather_last_rows", 0);
        this.hyperCombine = kernels.chained("hyper_combine", 0);
        this.hyperInject = kernels.chained("hyper_inject", 0);
    }

    private static long count(Tensor tensor) {
        return (long) tensor.rows() * tensor.columns();
    }

    void norm(Tensor in, Tensor weight, int group, float epsilon, Tensor out) {
        launcher.begin()
                .tensor(in)
                .tensor(weight)
                .integer(in.columns())
                .integer(group)
                .integer(weight.columns())
                .real(epsilon)
                .tensor(out)
                .launch(norm, count(in) / group, group >= 4096 ? 512 : group >= 1024 ? 256 : group >= 256 ? 128 : 32);
    }

    void add(Tensor addend, Tensor into) {
        launcher.begin().tensor(addend).tensor(into).address(count(into)).launchOver(add, count(into));
    }

    void repeat(Tensor in, int times, Tensor out) {
        launcher.begin()
                .tensor(in)
                .integer(in.columns())
                .integer(times)
                .address(count(out))
                .tensor(out)
                .launchOver(repeat, count(out));
    }

    void concatenate(Tensor left, Tensor right, Tensor out) {
        launcher.begin()
                .tensor(left)
                .integer(left.columns())
                .tensor(right)
                .integer(right.columns())
                .address(count(out))
                .tensor(out)
                .launchOver(concatenate, count(out));
    }

    /** @param rows address of int32 row numbers */
    void gather(Tensor in, long rows, Tensor out) {
        launcher.begin()
                .tensor(in)
                .address(rows)
                .integer(in.columns())
                .tensor(out)
                .launch(gather, out.rows(), 256);
    }

    /** The last row of each of {@code out.rows()} segments. */
    void gatherLast(Tensor in, long firstRows, long counts, Tensor out) {
        launcher.begin()
                .tensor(in)
                .address(firstRows)
                .address(counts)
                .integer(in.columns())
                .tensor(out)
                .launch(gatherLast, out.rows(), 256);
    }

    void hyperMix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject) {
        int rows = residual.rows();
        int streams = weights.streams();
        Tensor normed = scratch.tensor("normed streams", rows, residual.columns());
        Tensor low =
                scratch.tensor("gated residual, low rank", rows, weights.down().outputs());
        Tensor gates = scratch.tensor("stream gates", rows, residual.columns());
        norm(residual, weights.norm(), residual.columns() / streams, weights.epsilon(), normed);
        products.written(normed);
        products.multiply(
                weights.down(), normed, low, ProductMode.SILU, weights.down().scale() / streams, 0);
        if (inject != null && weights.inject() != null) {
            products.multiply(
                    weights.inject(),
                    normed,
                    inject,
                    ProductMode.TWICE_SIGMOID,
                    weights.inject().scale() / streams,
                    0);
        }
        products.multiply(
                weights.up(), low, gates, ProductMode.STORE, weights.up().scale(), 0);
        launcher.begin()
                .tensor(gates)
                .tensor(normed)
                .integer(streams)
                .integer(out.columns())
                .address(count(out))
                .tensor(out)
                .launchOver(hyperCombine, count(out));
    }

    void hyperInject(Tensor y, Tensor inject, Tensor residual) {
        launcher.begin()
                .tensor(y)
                .tensor(inject)
                .integer(inject.columns())
                .integer(y.columns())
                .address(count(residual))
                .tensor(residual)
                .launchOver(hyperInject, count(residual));
    }
}
