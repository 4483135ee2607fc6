package dev.strata.device;

import java.lang.foreign.MemorySegment;

/** A contiguous piece of memory of a {@link Device}. Closing it returns the memory; use {@link Device#retire} when work may still read it. */
public interface Buffer extends AutoCloseable {
    /** Size in bytes. */
    long bytes();

    /** Raw address: a host address for host devices, a device pointer for accelerators. */
    long address();

    /**
     * The memory as the host sees it.
     *
     * @throws UnsupportedOperationException when the host cannot address it
     */
    MemorySegment host();

    /** Whether {@link #host()} is available. */
    boolean hostVisible();

    @Override
    void close();
}
