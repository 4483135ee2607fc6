package dev.strata.device;

import java.lang.foreign.MemorySegment;

/** A range of host memory that a device may read directly until it is closed. */
public interface HostRegistration extends AutoCloseable {
    MemorySegment memory();

    /** Address by which kernels of the device read the start of the range. */
    long deviceAddress();

    @Override
    void close();
}
