package dev.strata.decode;

import dev.strata.device.ExpertLayout;
import dev.strata.expert.BlobSlices;
import dev.strata.expert.FileSlice;
import dev.strata.format.QuantType;
import dev.strata.format.safetensors.PackedMatrices;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

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
    private static final int BLOCK_BYTES = QuantType.NVFP4.blockBytes();
    private static final int VALUE_BYTES = 32;

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

    /** The experts of safetensors that hold matrices as they are used: a tensor each, those of an expert together, down first. */
    List<BlobSlices> separate() {
        return apart(false);
    }

    /** The same for NVFP4 as checkpoints have it: values and scales are tensors of their own, and are put together. */
    List<BlobSlices> nvfp4() {
        return apart(true);
    }

    private List<BlobSlices> apart(boolean made) {
        List<BlobSlices> layers = new ArrayList<>();
        long end = START;
        for (BlobSlices layer : stacked) {
            ExpertLayout layout = layer.layout();
            long[] sizes = {layout.gateBytes(), layout.upBytes(), layout.downBytes()};
            List<List<FileSlice>> experts = new ArrayList<>();
            for (int expert = 0; expert < layout.experts(); expert++) {
                FileSlice down = new FileSlice(0, end, sizes[2]);
                FileSlice gate = new FileSlice(0, end + sizes[2], sizes[0]);
                FileSlice up = new FileSlice(0, gate.offset() + sizes[0], sizes[1]);
                List<FileSlice> slices = List.of(gate, up, down);
                experts.add(made ? slices.stream().flatMap(ExpertFile::split).toList() : slices);
                end += layout.blobBytes();
            }
            layers.add(new BlobSlices(layout, experts, List.of(), made ? new Nvfp4(layout) : null));
        }
        return layers;
    }

    /** Values, then the scales of a matrix. */
    private static Stream<FileSlice> split(FileSlice matrix) {
        long values = matrix.bytes() / BLOCK_BYTES * VALUE_BYTES;
        return Stream.of(
                new FileSlice(0, matrix.offset(), values),
                new FileSlice(0, matrix.offset() + values, matrix.bytes() - values));
    }

    private record Nvfp4(ExpertLayout layout) implements BlobSlices.Maker {
        @Override
        public void make(int expert, MemorySegment bytes, MemorySegment blob) {
            long at = 0;
            for (long size : new long[] {layout.gateBytes(), layout.upBytes(), layout.downBytes()}) {
                long blocks = size / BLOCK_BYTES;
                MemorySegment values = bytes.asSlice(at, blocks * VALUE_BYTES);
                MemorySegment scales = bytes.asSlice(at + values.byteSize(), size - values.byteSize());
                PackedMatrices.repackNvfp4(values, scales, 0, blocks, blob.asSlice(at, size));
                at += size;
            }
        }
    }

    /** Writes a file of that length with random contents. */
    void write(Path file) throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(8 << 20);
        SplittableRandom random = new SplittableRandom(1);
        while (block.remaining() >= 8) {
            block.putLong(random.nextLong());
        }
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            for (long done = 0; done < bytes; done += block.limit()) {
                block.clear();
                // Blocks differ, so that no drive keeps one copy for all.
                block.putLong(0, done);
                block.limit((int) Math.min(block.limit(), bytes - done));
                while (block.hasRemaining()) {
                    channel.write(block);
                }
            }
            channel.force(true);
        }
    }
}
