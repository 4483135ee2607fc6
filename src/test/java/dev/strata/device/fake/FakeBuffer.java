package dev.strata.device.fake;

import dev.strata.device.Buffer;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;

/** Memory of a {@link FakeDevice}; the host sees it only when it is pinned, tests always do. */
public final class FakeBuffer implements Buffer {
    private final FakeDevice device;
    private final HostPages pages;
    private final boolean pinned;
    private boolean closed;

    FakeBuffer(FakeDevice device, HostPages pages, boolean pinned) {
        this.device = device;
        this.pages = pages;
        this.pinned = pinned;
    }

    @Override
    public long bytes() {
        return pages.bytes();
    }

    @Override
    public long address() {
        return pages.address();
    }

    @Override
    public MemorySegment host() {
        if (!pinned) {
            throw new UnsupportedOperationException("device memory cannot be seen by the host");
        }
        return pages.memory();
    }

    @Override
    public boolean hostVisible() {
        return pinned;
    }

    /** What is stored, for checks in tests. */
    public MemorySegment contents() {
        return pages.memory();
    }

    boolean pinned() {
        return pinned;
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        device.freed(this);
        pages.close();
    }
}
