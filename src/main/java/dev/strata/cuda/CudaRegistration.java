package dev.strata.cuda;

import dev.strata.device.DeviceException;
import dev.strata.device.HostRegistration;
import java.lang.foreign.MemorySegment;

/** Host memory that the driver has registered. */
final class CudaRegistration implements HostRegistration {
    private final MemorySegment memory;
    private final long deviceAddress;
    private boolean closed;

    private CudaRegistration(MemorySegment memory, long deviceAddress) {
        this.memory = memory;
        this.deviceAddress = deviceAddress;
    }

    static CudaRegistration create(MemorySegment memory) {
        int code = Driver.register(memory);
        if (code != 0) {
            throw new DeviceException(
                    DeviceException.Kind.REGISTRATION_REFUSED,
                    "cuMemHostRegister(" + memory.byteSize() + " bytes) failed: " + Driver.errorName(code));
        }
        return new CudaRegistration(memory, Driver.devicePointer(memory));
    }

    @Override
    public MemorySegment memory() {
        return memory;
    }

    @Override
    public long deviceAddress() {
        return deviceAddress;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Driver.unregister(memory);
        }
    }
}
