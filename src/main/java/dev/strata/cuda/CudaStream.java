package dev.strata.cuda;

import dev.strata.device.Event;
import dev.strata.device.Stream;
import org.jspecify.annotations.Nullable;

/** A stream of the driver. */
final class CudaStream implements Stream {
    private final String name;
    private final long handle;
    private @Nullable Runnable before;

    private CudaStream(String name, long handle) {
        this.name = name;
        this.handle = handle;
    }

    static CudaStream create(String name) {
        return new CudaStream(name, Driver.newStream());
    }

    /** Work that is still being put together is queued by {@code queue} before anything else is. */
    void before(Runnable queue) {
        before = queue;
    }

    /** For those that queue something. */
    long handle() {
        Runnable queue = before;
        if (queue != null) {
            queue.run();
        }
        return handle;
    }

    @Override
    public void waitFor(Event event) {
        Driver.waitEvent(handle(), ((CudaEvent) event).handle());
    }

    @Override
    public void synchronize() {
        Driver.synchronizeStream(handle());
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
