package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.Batch;
import dev.strata.device.HostUnits;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.StateUnits;

/** Convolution rows of the n-gram layer, float32 [slots][(kernel - 1) * dilation][streams * hidden], oldest first. */
final class NgramRows implements LayerState.Ngram, HeldState {
    private final int columns;
    private final int length;
    private final SlotRows past;
    private final KeptRows kept;
    private final Transposed convolution = new Transposed();

    NgramRows(NgramWeights weights, int slots) {
        this.columns = weights.convolution().rows();
        this.length = weights.stateRows();
        this.past = new SlotRows(slots, 4L * length * columns, "n-gram convolution rows");
        this.kept = new KeptRows(columns);
    }

    long past() {
        return past.address();
    }

    /** The convolution's weights as [kernel][columns]. */
    long convolution(NgramWeights weights) {
        return convolution.address(weights.convolution());
    }

    /** Where the normed rows of a held pass are kept. */
    long kept(int rows) {
        return kept.room(rows);
    }

    @Override
    public void commit(long context, Batch.Segment segment, int accepted) {
        if (accepted > 0) {
            CpuKernels.strata_cpu_shift_rows(
                    context, past.slot(segment.slot()), length, columns, kept.row(segment.firstRow()), accepted);
        }
    }

    @Override
    public StateUnits slots() {
        return new HostUnits(past.part());
    }

    @Override
    public long bytes() {
        return past.bytes() + kept.bytes();
    }

    @Override
    public void close() {
        past.close();
        kept.close();
        convolution.close();
    }
}
