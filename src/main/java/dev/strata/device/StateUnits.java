package dev.strata.device;

import java.lang.foreign.MemorySegment;

/** The pages or the slots of one layer's state: equal pieces that can be cleared, copied, and taken out and put back as bytes. */
public interface StateUnits {
    /** Bytes of one page or slot. */
    long unitBytes();

    /** Zeroes a page or slot. */
    void clear(int unit);

    /** Copies a page or slot to another one of the same state. */
    void copy(int from, int to);

    /** Waits for all work and copies a page or slot to {@code target}, {@link #unitBytes} long, in the backend's own layout. */
    void read(int unit, MemorySegment target);

    /** Puts back what {@link #read} gave, into any page or slot. {@code source} may change when this returns. */
    void write(int unit, MemorySegment source);
}
