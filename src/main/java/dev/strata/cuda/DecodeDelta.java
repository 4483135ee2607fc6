package dev.strata.cuda;

import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.Map;

/** Launches delta_decode and delta_row: all of a DeltaNet mixer between its projections, for passes of few rows a sequence. */
final class DecodeDelta {
    private static final int MOST_VALUES = 256;
    private static final int MOST_SEGMENTS = 64;
    private static final int ROW_SIZE = 128;
    private static final int ROW_TAPS = 4;

    private final Launcher launcher;
    private final Scratch scratch;
    private final Kernels kernels;
    private final StepRecord step;
    private final DecodeForms forms;
    private final IntegerRow integers;
    private final Map<Integer, Kernel> made = new HashMap<>();
    private final Kernel row;

    DecodeDelta(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StepRecord step,
            DecodeForms forms,
            IntegerRow integers) {
        this.launcher = launcher;
        this.scratch = scratch;
        this.kernels = kernels;
        this.step = step;
        this.forms = forms;
        this.integers = integers;
        this.row = kernels.chained("delta_row", 0);
    }

    private Kernel kernel(DeltaShape shape) {
        return step.longestSegment() == 1 && plain(shape)
                ? row
                : made.computeIfAbsent(shape.keySize(), size -> kernels.chained("delta_decode_" + size, 0));
    }

    /** Whether delta_row, for one row a sequence, is of this shape. */
    private static boolean plain(DeltaShape shape) {
        return shape.keySize() == ROW_SIZE && shape.valueSize() == ROW_SIZE && shape.kernel() == ROW_TAPS;
    }

    boolean suits(DeltaShape shape) {
        return forms.fused()
                && step.longestSegment() <= Batch.MAX_WINDOW
                && step.segments() <= MOST_SEGMENTS
                && shape.valueSize() <= MOST_VALUES;
    }

    void run(
            DeltaShape shape,
            DeltaWeights weights,
            Tensor qkv,
            Tensor z,
            Tensor beta,
            Tensor alpha,
            CudaStates.Recurrent state,
            boolean hold,
            Tensor out) {
        long arrivals = scratch.zeroed("arrivals at convolutions", 4L * MOST_SEGMENTS * shape.keyHeads());
        Kernel kernel = kernel(shape);
        launcher.begin()
                .tensor(qkv)
                .tensor(z)
                .tensor(beta)
                .tensor(alpha)
                .tensor(weights.convolution())
                .tensor(weights.decay())
                .tensor(weights.timeBias())
                .tensor(weights.norm())
                .address(kernel == row ? integers.madeWith(out) : 0)
                .address(state.rows().address())
                .address(state.matrices().address())
                .address(step.firstRows())
                .address(step.counts())
                .address(step.slots())
                .integer(shape.keyHeads())
                .integer(shape.valueHeads())
                .integer(shape.valueSize())
                .integer(shape.kernel())
                .flag(shape.tiledHeads())
                .real(shape.normEpsilon())
                .flag(shape.sigmoidGate())
                .flag(hold)
                .address(arrivals)
                .tensor(out)
                .launch(kernel, shape.valueHeads(), step.segments(), 1, 512, 0);
    }
}
