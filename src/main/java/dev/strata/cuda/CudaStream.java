package dev.strata.cuda;

import dev.strata.device.Event;
import dev.strata.device.Stream;

/** A stream of the driver. */
final class CudaStream implements Stream {
    private final String name;
    private final long handle;

    private CudaStream(String name, long handle) {
        this.name = name;
        this.handle = handle;
    }

    static CudaStream create(String name) {
        return new CudaStream(name, Driver.newStream());
    }

    long handle() {
        return handle;
    }

    @Override
    public void waitFor(Event event) {
        Driver.waitEvent(handle, ((CudaEvent) event).handle());
    }

    @Override
    public void synchronize() {
        Driver.synchronizeStream(handle);
    }

    @Override
    public void close() {
        Driver.destroyStream(handle);
    }

    @Override
    public String toString() {
        return "stream " + name;
    }
}
