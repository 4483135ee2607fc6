package dev.strata.device.reference;

import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import java.util.Arrays;

/** The past rows that the n-gram layer's convolution reaches, oldest first, one set a slot. */
final class NgramState implements LayerState.Ngram {
    private final float[][] slots;

    NgramState(NgramWeights weights, int slots) {
        this.slots = new float[slots][weights.stateRows() * weights.key().outputs()];
    }

    float[] slot(int index) {
        return slots[index];
    }

    void clear(int index) {
        Arrays.fill(slots[index], 0);
    }

    void copy(int from, int to) {
        System.arraycopy(slots[from], 0, slots[to], 0, slots[to].length);
    }

    @Override
    public long bytes() {
        return 4L * slots.length * slots[0].length;
    }

    @Override
    public void close() {}
}
