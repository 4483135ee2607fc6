package dev.strata.device.reference;

import dev.strata.device.DeltaShape;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;
import java.util.Arrays;

/** Convolution rows and delta-rule matrices of one layer, one set a slot; a slot's memory is made when it is first used. */
final class DeltaState implements LayerState.Recurrent {
    /**
     * One sequence's state.
     *
     * @param rows the last {@code kernel - 1} inputs of the convolution, [kernel - 1, channels]
     * @param matrices [valueHeads, keySize, valueSize]
     */
    record Slot(float[] rows, float[] matrices) {
        Slot copy() {
            return new Slot(rows.clone(), matrices.clone());
        }
    }

    private final Slot[] slots;
    private final DeltaShape shape;

    DeltaState(DeltaShape shape, int slots) {
        this.shape = shape;
        this.slots = new Slot[slots];
    }

    Slot slot(int index) {
        if (slots[index] == null) {
            slots[index] = new Slot(
                    new float[(shape.kernel() - 1) * shape.channels()],
                    new float[shape.valueHeads() * shape.keySize() * shape.valueSize()]);
        }
        return slots[index];
    }

    @Override
    public StateUnits slots() {
        return new ArrayUnits(slotBytes(), index -> {
            Slot slot = slot(index);
            return new float[][] {slot.rows(), slot.matrices()};
        });
    }

    private long slotBytes() {
        return 4
                * ((shape.kernel() - 1L) * shape.channels()
                        + (long) shape.valueHeads() * shape.keySize() * shape.valueSize());
    }

    @Override
    public long bytes() {
        return slotBytes() * slots.length;
    }

    @Override
    public void close() {
        Arrays.fill(slots, null);
    }
}
