package dev.strata.engine;

import java.util.BitSet;

/** Hands out the recurrent state slots of a model. Used by one thread. */
final class SlotAllocator {
    private final BitSet taken = new BitSet();
    private final int slots;

    SlotAllocator(int slots) {
        this.slots = slots;
    }

    /**
     * A free slot.
     *
     * @throws IllegalStateException when there is none: callers keep within what was laid out
     */
    int take() {
        int slot = taken.nextClearBit(0);
        if (slot >= slots) {
            throw new IllegalStateException("all " + slots + " state slots are taken");
        }
        taken.set(slot);
        return slot;
    }

    void release(int slot) {
        if (!taken.get(slot)) {
            throw new IllegalStateException("state slot " + slot + " is free already");
        }
        taken.clear(slot);
    }

    int free() {
        return slots - taken.cardinality();
    }
}
