package dev.strata.format.gguf;

import dev.strata.format.MappedFile;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A GGUF model, one file or several, mapped in place. */
public final class GgufModelFiles implements ModelFiles {
    private final Path path;
    private final List<Path> files;
    private final Map<String, Object> metadata;
    private final TensorTable tensors;

    private GgufModelFiles(Path path, List<Path> files, Map<String, Object> metadata, TensorTable tensors) {
        this.path = path;
        this.files = files;
        this.metadata = metadata;
        this.tensors = tensors;
    }

    /**
     * Opens a file, or all shards of the split that it is part of.
     *
     * @throws ModelFormatException at the first fault of any of them
     */
    public static GgufModelFiles open(Path path) {
        TensorTable tensors = new TensorTable();
        try (Arena heads = Arena.ofShared()) {
            return read(path, tensors, heads);
        } catch (RuntimeException exception) {
            tensors.close();
            throw exception;
        }
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
        return new GgufModelFiles(path, files, Collections.unmodifiableMap(metadata), tensors);
    }

    @Override
    public Container container() {
        return Container.GGUF;
    }

    @Override
    public Path path() {
        return path;
    }

    @Override
    public List<Path> files() {
        return files;
    }

    @Override
    public Map<String, Object> metadata() {
        return metadata;
    }

    @Override
    public Optional<String> companion(String fileName) {
        return Optional.empty();
    }

    @Override
    public List<TensorEntry> tensors() {
        return tensors.tensors();
    }

    @Override
    public Optional<TensorEntry> find(String name) {
        return tensors.find(name);
    }

    @Override
    public MemorySegment data(TensorEntry tensor) {
        return tensors.data(tensor);
    }

    @Override
    public long closeExpertViews() {
        return tensors.closeExperts();
    }

    @Override
    public void close() {
        tensors.close();
    }
}
