package dev.strata.device.fake;

import dev.strata.device.HostRegistration;
import java.lang.foreign.MemorySegment;

/** A range that a {@link FakeDevice} may read directly. */
final class FakeRegistration implements HostRegistration {
    private final FakeDevice device;
    private final MemorySegment memory;

    FakeRegistration(FakeDevice device, MemorySegment memory) {
        this.device = device;
        this.memory = memory;
    }

    @Override
    public MemorySegment memory() {
        return memory;
    }

    @Override
    public long deviceAddress() {
        return memory.address();
    }

    @Override
    public void close() {
        device.unregistered(this);
    }
}
