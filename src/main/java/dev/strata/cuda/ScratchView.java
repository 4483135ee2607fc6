package dev.strata.cuda;

import dev.strata.device.Buffer;
import java.lang.foreign.MemorySegment;

/** A piece of scratch memory seen as a buffer. It owns nothing. */
record ScratchView(long address, long bytes) implements Buffer {
    @Override
    public MemorySegment host() {
        throw new UnsupportedOperationException("scratch memory cannot be addressed by the host");
    }

    @Override
    public boolean hostVisible() {
        return false;
    }

    @Override
    public void close() {}
}
