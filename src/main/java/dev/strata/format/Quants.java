package dev.strata.format;

import dev.strata.format.quant.BlockDecoder;
import dev.strata.format.quant.BlockEncoder;
import dev.strata.format.quant.Decoders;
import dev.strata.format.quant.Encoders;
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

    /** Whether {@link #encode} can write the type. */
    public static boolean canEncode(QuantType type) {
        return Encoders.of(type).isPresent();
    }

    /**
     * Encodes {@code elements} contiguous elements, a whole number of blocks, with small squared error.
     *
     * @throws IllegalArgumentException when they are not whole blocks or the type is only read
     */
    public static void encode(
            QuantType type, float[] source, int sourceOffset, int elements, MemorySegment target, long targetOffset) {
        if (!type.divides(elements)) {
            throw new IllegalArgumentException(
                    elements + " elements are not whole blocks of " + type.blockElements() + " (" + type + ")");
        }
        BlockEncoder encoder = Encoders.of(type)
                .orElseThrow(() -> new IllegalArgumentException("type " + type + " can be read but not written"));
        long offset = targetOffset;
        int end = sourceOffset + elements;
        for (int at = sourceOffset; at < end; at += type.blockElements()) {
            encoder.encode(source, at, target, offset);
            offset += type.blockBytes();
        }
    }
}
