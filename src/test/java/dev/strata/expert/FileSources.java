package dev.strata.expert;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Sources over files of a test. */
public final class FileSources {
    private FileSources() {}

    /** The experts of a model whose one file is {@code file}. */
    public static FileExpertSource over(Path path, FakeFile file, List<StoredExperts> stored) throws IOException {
        List<BlobSlices> slices =
                stored.stream().map(layer -> BlobSlices.of(layer, List.of(path))).toList();
        return FileExpertSource.over(List.of(path), List.of(file), slices, 4);
    }
}
