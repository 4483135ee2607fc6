package dev.strata.format;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;

/** Model files whose tensors are read in place. */
public abstract class MappedModelFiles implements ModelFiles {
    private final Path path;
    private final List<Path> files;
    private final Map<String, Object> metadata;
    private final TensorTable tensors;

    /** @param tensors closed with this */
    protected MappedModelFiles(Path path, List<Path> files, Map<String, Object> metadata, TensorTable tensors) {
        this.path = path;
        this.files = List.copyOf(files);
        this.metadata = Collections.unmodifiableMap(metadata);
        this.tensors = tensors;
    }

    /**
     * Reads the heads of a model's files.
     *
     * @param read fills the table, which is closed when this fails; heads are mapped in the arena, which is closed in any case
     */
    protected static <T extends MappedModelFiles> T open(BiFunction<TensorTable, Arena, T> read) {
        TensorTable tensors = new TensorTable();
        try (Arena heads = Arena.ofShared()) {
            return read.apply(tensors, heads);
        } catch (RuntimeException exception) {
            tensors.close();
            throw exception;
        }
    }

    @Override
    public final Path path() {
        return path;
    }

    @Override
    public final List<Path> files() {
        return files;
    }

    @Override
    public final Map<String, Object> metadata() {
        return metadata;
    }

    @Override
    public final List<TensorEntry> tensors() {
        return tensors.tensors();
    }

    @Override
    public final Optional<TensorEntry> find(String name) {
        return tensors.find(name);
    }

    @Override
    public final MemorySegment data(TensorEntry tensor) {
        return tensors.data(tensor);
    }

    @Override
    public final long closeExpertViews() {
        return tensors.closeExperts();
    }

    @Override
    public final void close() {
        tensors.close();
    }
}
