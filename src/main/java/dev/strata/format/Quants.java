package dev.strata.format;

import dev.strata.format.quant.BlockDecoder;
import dev.strata.format.quant.Decoders;
import java.lang.foreign.MemorySegment;

/** Conversion between stored blocks and float32. Source of the layouts: ggml. */
public final class Quants {
    private Quants() {}

    /**
     * Decodes {@code elements} contiguous elements, a whole number of blocks, of every type bit for bit as ggml does.
     *
     * @throws IllegalArgumentException when they are not whole blocks
     */
    public static void decode(
            QuantType type, MemorySegment source, long sourceOffset, float[] target, int targetOffset, int elements) {
        if (!type.divides(elements)) {
            throw new IllegalArgumentException(
                    elements + " elements are not whole blocks of " + type.blockElements() + " (" + type + ")");
        }
        BlockDecoder decoder = Decoders.of(type);
        long offset = sourceOffset;
        int end = targetOffset + elements;
        for (int at = targetOffset; at < end; at += type.blockElements()) {
            decoder.decode(source, offset, target, at);
            offset += type.blockBytes();
        }
    }
}
