package dev.strata.cpu;

import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;

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

    HostUnits.Part part() {
        return new HostUnits.Part(buffer, slotBytes);
    }

    long bytes() {
        return buffer.bytes();
    }

    @Override
    public void close() {
        buffer.close();
    }
}
