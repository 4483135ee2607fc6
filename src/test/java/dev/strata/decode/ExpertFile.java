package dev.strata.decode;

import dev.strata.device.ExpertLayout;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.FileSlice;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.List;

/**
 * Where experts lie in a benchmark's file, in two ways.
 *
 * @param stacked gate, up and down matrices of all experts of a layer one behind the other, with a norm's bytes between the tensors, as in a
 *     GGUF file: none of the three starts where another one does in its block
 * @param packed whole blobs on borders of 64 KiB
 * @param bytes that the file needs
 */
record ExpertFile(List<BlobSlices> stacked, List<BlobSlices> packed, long bytes) {
    private static final long START = 1344;
    private static final long NORM = 1056;
    private static final long PACK_UNIT = 64 << 10;

    /** NVFP4 experts of one shape. */
    static ExpertFile of(double gib, int experts, int hidden, int intermediate) {
        List<BlobSlices> stacked = new ArrayList<>();
        List<BlobSlices> packed = new ArrayList<>();
        long blob = layout(0, experts, hidden, intermediate).blobBytes();
        int layers = (int) Math.max(1, gib * (1L << 30) / blob / experts);
        long end = START;
        long packEnd = 0;
        for (int layer = 0; layer < layers; layer++) {
            ExpertLayout layout = layout(layer, experts, hidden, intermediate);
            List<List<FileSlice>> apart = new ArrayList<>();
            List<List<FileSlice>> together = new ArrayList<>();
            for (int expert = 0; expert < experts; expert++) {
                apart.add(new ArrayList<>());
                together.add(List.of(new FileSlice(0, packEnd, blob)));
                packEnd += Math.ceilDiv(blob, PACK_UNIT) * PACK_UNIT;
            }
            for (long size : new long[] {layout.gateBytes(), layout.upBytes(), layout.downBytes()}) {
                for (int expert = 0; expert < experts; expert++) {
                    apart.get(expert).add(new FileSlice(0, end, size));
                    end += size;
                }
                end += NORM;
            }
            stacked.add(new BlobSlices(layout, apart, List.of()));
            packed.add(new BlobSlices(layout, together, List.of()));
        }
        return new ExpertFile(stacked, packed, Math.max(end, packEnd));
    }

    private static ExpertLayout layout(int layer, int experts, int hidden, int intermediate) {
        QuantType type = QuantType.NVFP4;
        return new ExpertLayout(layer, experts, hidden, intermediate, type, type, type, false);
    }
}
