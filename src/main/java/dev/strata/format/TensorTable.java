package dev.strata.format;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The tensors of all files of a model by name, with the mappings they lie in. */
public final class TensorTable {
    private final Map<String, TensorEntry> byName = new LinkedHashMap<>();
    private final List<TensorEntry> inOrder = new ArrayList<>();
    private final Map<Path, MappedFile> files = new HashMap<>();

    /**
     * Adds the tensors of one file.
     *
     * @throws ModelFormatException when another file has a tensor of the same name
     */
    public void add(MappedFile file, List<TensorEntry> tensors) {
        files.put(file.path(), file);
        for (TensorEntry tensor : tensors) {
            TensorEntry other = byName.putIfAbsent(tensor.name(), tensor);
            if (other != null) {
                throw new ModelFormatException(
                        tensor.file() + ": tensor " + tensor.name() + " is also in " + other.file());
            }
            inOrder.add(tensor);
        }
    }

    public List<TensorEntry> tensors() {
        return Collections.unmodifiableList(inOrder);
    }

    public Optional<TensorEntry> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /** The bytes of a tensor of this table. */
    public MemorySegment data(TensorEntry tensor) {
        MappedFile file = files.get(tensor.file());
        if (file == null) {
            throw new IllegalArgumentException("tensor " + tensor.name() + " is not one of this model");
        }
        return file.bytes().asSlice(tensor.offset(), tensor.bytes());
    }
}
