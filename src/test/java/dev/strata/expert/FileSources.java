package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntFunction;

/** Sources over files of a test. */
public final class FileSources {
    private static final int PLACE = 64 << 10;

    private FileSources() {}

    /** A file that holds the blobs of {@link PatternSource}, each on a border of 64 KiB. */
    public static FakeFile patterns(ArenaLayout model) {
        byte[] bytes = new byte[model.totalExperts() * PLACE];
        int number = 0;
        for (int layer = 0; layer < model.layers(); layer++) {
            for (int expert = 0; expert < model.experts(layer); expert++) {
                new PatternSource(model)
                        .copyBlob(
                                layer,
                                expert,
                                MemorySegment.ofArray(bytes)
                                        .asSlice(
                                                (long) PLACE * number++,
                                                model.layout(layer).blobBytes()));
            }
        }
        return new FakeFile(bytes, 4096);
    }

    /** A source over such a file. */
    public static FileExpertSource over(ArenaLayout model, FakeFile file) throws IOException {
        List<BlobSlices> slices = new ArrayList<>();
        int number = 0;
        for (int layer = 0; layer < model.layers(); layer++) {
            List<List<FileSlice>> blobs = new ArrayList<>();
            for (int expert = 0; expert < model.experts(layer); expert++) {
                blobs.add(List.of(new FileSlice(
                        0, (long) PLACE * number++, model.layout(layer).blobBytes())));
            }
            slices.add(new BlobSlices(model.layout(layer), blobs, List.of()));
        }
        return FileExpertSource.over(List.of(Path.of("model.gguf")), List.of(file), slices, 4);
    }

    /**
     * A file and where blobs lie in it.
     *
     * @param slices gate, up and down of every expert
     */
    public record Laid(byte[] contents, List<BlobSlices> slices) {
        public FileExpertSource open(FakeFile file, int depth) throws IOException {
            return FileExpertSource.over(List.of(Path.of("model.gguf")), List.of(file), slices, depth);
        }
    }

    /**
     * Tensors with the matrices of all experts, which start anywhere in their blocks.
     *
     * @param stacked whether matrices follow each other; else there are gaps between them
     * @param factors of the experts of a layer whose blobs have them
     */
    public static Laid lay(
            ArenaLayout model, SplittableRandom random, boolean stacked, IntFunction<List<float[]>> factors) {
        byte[] bytes = new byte[(int) model.totalBytes() * 2];
        long end = random.nextInt(9000);
        List<BlobSlices> layers = new ArrayList<>();
        for (int layer = 0; layer < model.layers(); layer++) {
            ExpertLayout layout = model.layout(layer);
            List<List<FileSlice>> blobs = new ArrayList<>();
            byte[][] patterns = new byte[layout.experts()][(int) model.stride(layer)];
            for (int expert = 0; expert < layout.experts(); expert++) {
                blobs.add(new ArrayList<>());
                new PatternSource(model).copyBlob(layer, expert, MemorySegment.ofArray(patterns[expert]));
            }
            long from = 0;
            for (long size : new long[] {layout.gateBytes(), layout.upBytes(), layout.downBytes()}) {
                for (int expert = 0; expert < layout.experts(); expert++) {
                    System.arraycopy(patterns[expert], (int) from, bytes, (int) end, (int) size);
                    blobs.get(expert).add(new FileSlice(0, end, size));
                    end += size + (stacked ? 0 : random.nextInt(3) * random.nextInt(5000));
                }
                end += random.nextInt(5000);
                from += size;
            }
            layers.add(new BlobSlices(layout, blobs, layout.scaled() ? factors.apply(layer) : List.of()));
        }
        return new Laid(Arrays.copyOf(bytes, (int) end), layers);
    }

    /** The experts of a model whose one file is {@code file}. */
    public static FileExpertSource over(Path path, FakeFile file, List<StoredExperts> stored) throws IOException {
        List<BlobSlices> slices = stored.stream()
                .map(layer -> BlobSlices.of(layer, List.of(path)))
                .toList();
        return FileExpertSource.over(List.of(path), List.of(file), slices, 4);
    }
}
