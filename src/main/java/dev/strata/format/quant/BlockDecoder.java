package dev.strata.format.quant;

import java.lang.foreign.MemorySegment;

/** Turns one block of a type into float32, bit for bit as ggml's reference does without fused multiply-add. */
@FunctionalInterface
public interface BlockDecoder {
    /** Decodes the block at {@code offset} of {@code source} to {@code target} from {@code at} on. */
    void decode(MemorySegment source, long offset, float[] target, int at);
}
