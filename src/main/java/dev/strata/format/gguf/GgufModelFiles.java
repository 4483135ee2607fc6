package dev.strata.format.gguf;

import dev.strata.format.MappedFile;
import dev.strata.format.MappedModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorTable;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A GGUF model, one file or several, mapped in place. */
public final class GgufModelFiles extends MappedModelFiles {
    private GgufModelFiles(Path path, List<Path> files, Map<String, Object> metadata, TensorTable tensors) {
        super(path, files, metadata, tensors);
    }

    /**
     * Opens a file, or all shards of the split that it is part of.
     *
     * @throws ModelFormatException at the first fault of any of them
     */
    public static GgufModelFiles open(Path path) {
        return open((tensors, heads) -> read(path, tensors, heads));
    }

    private static GgufModelFiles read(Path path, TensorTable tensors, Arena heads) {
        List<Path> files = GgufSplit.of(path).map(split -> split.shards(path)).orElse(List.of(path));
        boolean split = files.size() > 1;
        Map<String, Object> metadata = new LinkedHashMap<>();
        for (int i = 0; i < files.size(); i++) {
            MappedFile file = MappedFile.map(files.get(i), heads);
            GgufHeader header = GgufReader.read(file);
            if (split) {
                GgufSplit.check(file.path(), header.metadata(), i, files.size());
            } else if (header.metadata().get(GgufSplit.COUNT_KEY) instanceof Long count && count > 1) {
                throw new ModelFormatException(path + ": key " + GgufSplit.COUNT_KEY + " says this is one of " + count
                        + " files, but its name does not end in -00001-of-" + String.format("%05d", count)
                        + ".gguf; rename the shards back so that they can be found");
            }
            header.metadata().forEach(metadata::putIfAbsent);
            tensors.add(file, header.tensors());
        }
        if (split
                && metadata.get(GgufSplit.TENSORS_KEY) instanceof Long total
                && total != tensors.tensors().size()) {
            throw new ModelFormatException(path + ": key " + GgufSplit.TENSORS_KEY + " says " + total
                    + " tensors, the shards hold " + tensors.tensors().size());
        }
        return new GgufModelFiles(path, files, metadata, tensors);
    }

    @Override
    public Container container() {
        return Container.GGUF;
    }
}
