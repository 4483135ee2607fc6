package dev.strata.cpu;

import dev.strata.device.HostBuffer;

/** One piece of state for each slot, all of the same size. */
final class SlotRows implements AutoCloseable {
    private final HostBuffer buffer;
    private final long slotBytes;

    SlotRows(int slots, long slotBytes, String purpose) {
        this.buffer = HugePages.allocate(slots * slotBytes, purpose);
        this.slotBytes = slotBytes;
    }

    long address() {
        return buffer.address();
    }

    /** Address of a slot's piece. */
    long slot(int slot) {
        return buffer.address() + slot * slotBytes;
    }

    void clear(int slot) {
        buffer.host().asSlice(slot * slotBytes, slotBytes).fill((byte) 0);
    }

    void copy(int from, int to) {
        buffer.host().asSlice(to * slotBytes, slotBytes).copyFrom(buffer.host().asSlice(from * slotBytes, slotBytes));
    }

    long bytes() {
        return buffer.bytes();
    }

    @Override
    public void close() {
        buffer.close();
    }
}
