package dev.strata.cuda;

import dev.strata.device.Event;
import dev.strata.device.Stream;

/** An event of the driver. */
final class CudaEvent implements Event {
    private final long handle;

    private CudaEvent(long handle) {
        this.handle = handle;
    }

    static CudaEvent create() {
        return new CudaEvent(Driver.newEvent(true));
    }

    long handle() {
        return handle;
    }

    @Override
    public void record(Stream stream) {
        Driver.recordEvent(handle, ((CudaStream) stream).handle());
    }

    @Override
    public boolean isDone() {
        return Driver.eventDone(handle);
    }

    @Override
    public void synchronize() {
        Driver.synchronizeEvent(handle);
    }

    @Override
    public float millisSince(Event earlier) {
        return Driver.elapsed(((CudaEvent) earlier).handle, handle);
    }

    @Override
    public void close() {
        Driver.destroyEvent(handle);
    }
}
