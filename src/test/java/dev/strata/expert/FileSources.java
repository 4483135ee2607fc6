package dev.strata.expert;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

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

    /** The experts of a model whose one file is {@code file}. */
    public static FileExpertSource over(Path path, FakeFile file, List<StoredExperts> stored) throws IOException {
        List<BlobSlices> slices = stored.stream()
                .map(layer -> BlobSlices.of(layer, List.of(path)))
                .toList();
        return FileExpertSource.over(List.of(path), List.of(file), slices, 4);
    }
}
