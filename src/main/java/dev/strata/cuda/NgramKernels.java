package dev.strata.cuda;

import dev.strata.device.NgramWeights;
import dev.strata.device.Tensor;

/** Launches the kernels of ngram.cu. */
final class NgramKernels {
    private static final int ROWS_EACH = 32;

    private final Launcher launcher;
    private final Scratch scratch;
    private final StepRecord step;
    private final Products products;
    private final HeldStates held;
    private final Kernel gate;
    private final Kernel convolve;
    private final Kernel shift;
    private final HeldRows keep;

    NgramKernels(
            Launcher launcher, Scratch scratch, Kernels kernels, StepRecord step, Products products, HeldStates held) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.step = step;
        this.products = products;
        this.held = held;
        this.gate = kernels.chained("ngram_gate", 0);
        this.convolve = kernels.chained("ngram_convolve", 0);
        this.shift = kernels.chained("shift_rows", 0);
        this.keep = new HeldRows(launcher, kernels);
    }

    void run(NgramWeights weights, Tensor embedding, Tensor residual, CudaStates.Ngram state, boolean hold) {
        int rows = residual.rows();
        int hidden = residual.columns() / weights.streams();
        Tensor key = scratch.tensor("n-gram key", rows, residual.columns());
        Tensor value = scratch.tensor("n-gram value", rows, hidden);
        Tensor normed = scratch.tensor("n-gram rows", rows, residual.columns());
        products.multiply(
                weights.key(), embedding, key, ProductMode.STORE, weights.key().scale(), 0);
        products.multiply(
                weights.value(),
                embedding,
                value,
                ProductMode.STORE,
                weights.value().scale(),
                0);
        launcher.begin()
                .tensor(key)
                .tensor(value)
                .tensor(weights.normKey())
                .tensor(weights.normQuery())
                .tensor(weights.normConvolution())
                .integer(weights.streams())
                .integer(hidden)
                .real(weights.epsilon())
                .tensor(residual)
                .tensor(normed)
                .launch(gate, (long) rows * weights.streams(), 256);
        launcher.begin()
                .tensor(normed)
                .tensor(weights.convolution())
                .address(state.rows().address())
                .address(step.firstRows())
                .address(step.counts())
                .address(step.slots())
                .integer(residual.columns())
                .integer(weights.kernel())
                .integer(weights.dilation())
                .integer(ROWS_EACH)
                .tensor(residual)
                .launch(
                        convolve,
                        Math.ceilDiv(residual.columns(), 256),
                        Math.ceilDiv(step.longestSegment(), ROWS_EACH),
                        step.segments(),
                        256,
                        0);
        if (hold) {
            keep.keep(normed, state.window());
            held.add(record -> shift(state, state.window().address(), record.segments()));
        } else {
            shift(state, normed.address(), DeltaKernels.Segments.of(step));
        }
    }

    private void shift(CudaStates.Ngram state, long from, DeltaKernels.Segments segments) {
        launcher.begin()
                .address(from)
                .address(segments.firstRows())
                .address(segments.counts())
                .address(segments.slots())
                .integer(state.channels())
                .integer(state.reach())
                .address(state.rows().address())
                .launch(shift, Math.ceilDiv(state.channels(), 256), segments.number(), 1, 256, 0);
    }
}
