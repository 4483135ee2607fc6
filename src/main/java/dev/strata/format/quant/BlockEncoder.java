package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Turns float32 into one block of a type with small squared error. */
@FunctionalInterface
public interface BlockEncoder {
    /** Encodes elements from {@code at} of {@code source} on to the block at {@code offset} of {@code target}. */
    void encode(float[] source, int at, MemorySegment target, long offset);
}
