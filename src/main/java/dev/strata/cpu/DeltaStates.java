package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.HostUnits;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;
import dev.strata.device.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * States of one DeltaNet layer, float32: matrices [slots][value heads][key size][value size] and convolution rows
 * [slots][kernel - 1][channels], oldest first.
 */
final class DeltaStates implements LayerState.Recurrent, HeldState {
    private final DeltaShape shape;
    private final SlotRows matrices;
    private final SlotRows past;
    private final KeptRows qkv;
    private final KeptRows beta;
    private final KeptRows alpha;
    private @Nullable DeltaWeights heldWeights;
    private final Transposed convolution = new Transposed();

    DeltaStates(DeltaShape shape, int slots) {
        this.shape = shape;
        this.matrices =
                new SlotRows(slots, 4L * shape.valueHeads() * shape.keySize() * shape.valueSize(), "delta rule states");
        this.past = new SlotRows(slots, 4L * (shape.kernel() - 1) * shape.channels(), "convolution rows");
        this.qkv = new KeptRows(shape.channels());
        this.beta = new KeptRows(shape.valueHeads());
        this.alpha = new KeptRows(shape.valueHeads());
    }

    long matrices() {
        return matrices.address();
    }

    long past() {
        return past.address();
    }

    /** The convolution's weights as [kernel][channels]. */
    long convolution(DeltaWeights weights) {
        return convolution.address(weights.convolution());
    }

    void keep(DeltaWeights weights, Tensor newQkv, Tensor newBeta, Tensor newAlpha) {
        heldWeights = weights;
        qkv.keep(newQkv);
        beta.keep(newBeta);
        alpha.keep(newAlpha);
    }

    @Override
    public void commit(long context, Batch.Segment segment, int accepted) {
        DeltaWeights weights = heldWeights;
        if (accepted == 0 || weights == null) {
            return;
        }
        int row = segment.firstRow();
        CpuKernels.strata_cpu_delta_replay(
                context,
                shape.keyHeads(),
                shape.valueHeads(),
                shape.keySize(),
                shape.valueSize(),
                shape.kernel(),
                shape.tiledHeads() ? 1 : 0,
                convolution(weights),
                weights.decay().address(),
                weights.timeBias().address(),
                qkv.row(row),
                beta.row(row),
                alpha.row(row),
                matrices(),
                past(),
                segment.slot(),
                accepted);
    }

    @Override
    public StateUnits slots() {
        return new HostUnits(matrices.part(), past.part());
    }

    @Override
    public long bytes() {
        return matrices.bytes() + past.bytes() + qkv.bytes() + beta.bytes() + alpha.bytes();
    }

    @Override
    public void close() {
        matrices.close();
        past.close();
        qkv.close();
        beta.close();
        alpha.close();
        convolution.close();
    }
}
