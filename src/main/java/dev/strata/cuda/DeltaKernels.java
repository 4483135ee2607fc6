package dev.strata.cuda;

import dev.strata.device.Buffer;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Launches the kernels of delta.cu. */
final class DeltaKernels {
    private static final int ROWS_EACH = 64;
    private static final int VALUES_OF_A_BLOCK = 16;

    private final Launcher launcher;
    private final DeltaChunks chunks;
    private final Scratch scratch;
    private final Kernels kernels;
    private final StepRecord step;
    private final HeldStates held;
    private final DecodeDelta decode;
    private final Map<Integer, Kernel> recur = new HashMap<>();
    private final Kernel convolve;
    private final Kernel prepare;
    private final Kernel gate;
    private final Kernel shift;
    private final HeldRows keep;

    DeltaKernels(
            Launcher launcher,
            Scratch scratch,
            Kernels kernels,
            StepRecord step,
            HeldStates held,
            DecodeDelta decode,
            DeltaChunks chunks) {
        this.launcher = launcher;
        this.chunks = chunks;
        this.scratch = scratch;
        this.kernels = kernels;
        this.step = step;
        this.held = held;
        this.decode = decode;
        this.convolve = kernels.chained("delta_convolve", 0);
        this.prepare = kernels.chained("delta_prepare", 0);
        this.gate = kernels.get("delta_gate");
        this.shift = kernels.chained("shift_rows", 0);
        this.keep = new HeldRows(launcher, kernels);
    }

    /** Segments as kernels read them. */
    record Segments(long firstRows, long counts, long slots, int number, int longest) {
        /** Those of the running pass. */
        static Segments of(StepRecord step) {
            return new Segments(step.firstRows(), step.counts(), step.slots(), step.segments(), step.longestSegment());
        }
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
        Segments segments = Segments.of(step);
        if (decode.suits(shape)) {
            decode.run(shape, weights, qkv, z, beta, alpha, state, hold, out);
        } else {
            advance(
                    shape,
                    weights,
                    qkv.address(),
                    beta.address(),
                    alpha.address(),
                    qkv.rows(),
                    state,
                    segments,
                    hold,
                    out.address());
            launcher.begin()
                    .tensor(out)
                    .tensor(z)
                    .tensor(weights.norm())
                    .address((long) out.rows() * shape.valueHeads())
                    .integer(shape.valueSize())
                    .real(shape.normEpsilon())
                    .flag(shape.sigmoidGate())
                    .launch(gate, Math.ceilDiv((long) out.rows() * shape.valueHeads(), 4), 128);
        }
        if (hold) {
            List<Buffer> window = state.window();
            keep.keep(qkv, window.get(0), beta, window.get(1), alpha, window.get(2));
            held.add(record -> advance(
                    shape,
                    weights,
                    window.get(0).address(),
                    window.get(1).address(),
                    window.get(2).address(),
                    record.rows(),
                    state,
                    record.segments(),
                    false,
                    0));
        }
    }

    private void advance(
            DeltaShape shape,
            DeltaWeights weights,
            long qkv,
            long beta,
            long alpha,
            int rows,
            CudaStates.Recurrent state,
            Segments segments,
            boolean keep,
            long out) {
        int channels = shape.channels();
        long convolved = scratch.address("convolved channels", 4L * rows * channels);
        int scalarColumns = 2 * shape.valueHeads() + shape.keyHeads();
        long scalars = scratch.address("delta scalars", 4L * rows * scalarColumns);
        launcher.begin()
                .address(qkv)
                .tensor(weights.convolution())
                .address(state.rows().address())
                .address(segments.firstRows())
                .address(segments.counts())
                .address(segments.slots())
                .integer(channels)
                .integer(shape.kernel())
                .integer(ROWS_EACH)
                .address(convolved)
                .launch(
                        convolve,
                        Math.ceilDiv(channels, 256),
                        Math.ceilDiv(segments.longest(), ROWS_EACH),
                        segments.number(),
                        256,
                        0);
        if (!keep) {
            launcher.begin()
                    .address(qkv)
                    .address(segments.firstRows())
                    .address(segments.counts())
                    .address(segments.slots())
                    .integer(channels)
                    .integer(shape.kernel() - 1)
                    .address(state.rows().address())
                    .launch(shift, Math.ceilDiv(channels, 256), segments.number(), 1, 256, 0);
        }
        launcher.begin()
                .address(convolved)
                .address(beta)
                .address(alpha)
                .tensor(weights.decay())
                .tensor(weights.timeBias())
                .integer(rows)
                .integer(shape.keyHeads())
                .integer(shape.valueHeads())
                .integer(shape.keySize())
                .integer(channels)
                .address(scalars)
                .launch(prepare, Math.ceilDiv((long) rows * shape.keyHeads(), 4), 128);
        if (!keep && out != 0 && chunks.suits(shape, segments.longest())) {
            chunks.run(shape, convolved, scalars, state.matrices().address(), segments, out);
            return;
        }
        launcher.begin()
                .address(convolved)
                .address(scalars)
                .address(state.matrices().address())
                .address(segments.firstRows())
                .address(segments.counts())
                .address(segments.slots())
                .integer(shape.keyHeads())
                .integer(shape.valueHeads())
                .integer(shape.valueSize())
                .flag(shape.tiledHeads())
                .flag(keep)
                .address(out)
                .launch(
                        recur.computeIfAbsent(shape.keySize(), size -> kernels.chained("delta_recur_" + size, 0)),
                        Math.ceilDiv(shape.valueSize(), VALUES_OF_A_BLOCK),
                        shape.valueHeads(),
                        segments.number(),
                        128,
                        0);
    }
}
