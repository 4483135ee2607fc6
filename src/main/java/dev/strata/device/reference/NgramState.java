package dev.strata.device.reference;

import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.StateUnits;

/** The past rows that the n-gram layer's convolution reaches, oldest first, one set a slot. */
final class NgramState implements LayerState.Ngram {
    private final float[][] slots;

    NgramState(NgramWeights weights, int slots) {
        this.slots = new float[slots][weights.stateRows() * weights.key().outputs()];
    }

    float[] slot(int index) {
        return slots[index];
    }

    @Override
    public StateUnits slots() {
        return new ArrayUnits(4L * slots[0].length, index -> new float[][] {slots[index]});
    }

    @Override
    public long bytes() {
        return 4L * slots.length * slots[0].length;
    }

    @Override
    public void close() {}
}
