package dev.strata.prefill;

import dev.strata.device.BlobParts;
import java.lang.foreign.MemorySegment;

/** Where copy threads take bytes from. A layer's bytes are addressed as in {@link dev.strata.expert.ArenaLayout}: blob e at e * stride. */
public interface StageSource {
    /**
     * Fills the starts of buffers with parts of one layer.
     *
     * @param offsets where the parts start in the layer
     * @param bytes their lengths
     * @param first index of the first part; {@code count} parts follow one another in the arrays
     * @param targets a buffer for every part
     * @throws java.io.UncheckedIOException naming what could not be read
     */
    void copy(int layer, long[] offsets, int[] bytes, int first, int count, MemorySegment[] targets);

    /**
     * The same for a link that takes blobs in parts.
     *
     * @param parts where the parts of a buffer's bytes lie in it afterwards; numbered as offsets and lengths are
     * @param turn calls with lower ones are waited for first
     */
    default void stage(
            int layer,
            long[] offsets,
            int[] bytes,
            int first,
            int count,
            MemorySegment[] targets,
            BlobParts[] parts,
            long turn) {
        copy(layer, offsets, bytes, first, count, targets);
        for (int i = first; i < first + count; i++) {
            parts[i].whole(bytes[i]);
        }
    }
}
