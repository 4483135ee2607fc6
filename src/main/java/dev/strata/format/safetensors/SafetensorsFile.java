package dev.strata.format.safetensors;

import dev.strata.format.MappedFile;
import dev.strata.format.ModelFormatException;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One safetensors file, mapped in place. */
public final class SafetensorsFile implements AutoCloseable {
    private final Path path;
    private final TensorTable table;
    private final Map<String, String> metadata;

    private SafetensorsFile(Path path, TensorTable table, Map<String, String> metadata) {
        this.path = path;
        this.table = table;
        this.metadata = metadata;
    }

    /**
     * Maps a file and reads its header.
     *
     * @throws ModelFormatException naming file, tensor and offsets at the first fault
     */
    public static SafetensorsFile open(Path path) {
        TensorTable table = new TensorTable();
        try (Arena head = Arena.ofShared()) {
            MappedFile file = MappedFile.map(path, head);
            SafetensorsHeader header = SafetensorsHeader.read(file);
            table.add(file, header.tensors());
            return new SafetensorsFile(path, table, header.metadata());
        } catch (RuntimeException exception) {
            table.close();
            throw exception;
        }
    }

    /** The strings of {@code __metadata__}. */
    public Map<String, String> metadata() {
        return metadata;
    }

    public List<TensorEntry> tensors() {
        return table.tensors();
    }

    public Optional<TensorEntry> find(String name) {
        return table.find(name);
    }

    /**
     * The tensor of this name.
     *
     * @throws ModelFormatException when there is none
     */
    public TensorEntry require(String name) {
        return find(name).orElseThrow(() -> new ModelFormatException(path + ": has no tensor " + name));
    }

    /** The bytes of a tensor, valid until the file is closed. */
    public MemorySegment data(TensorEntry tensor) {
        return table.data(tensor);
    }

    /** A tensor of F32, F16, BF16 or F64 values as float32. */
    public float[] floats(String name) {
        TensorEntry tensor = require(name);
        float[] values = new float[Math.toIntExact(tensor.elements())];
        Quants.decode(tensor.type(), data(tensor), 0, values, 0, values.length);
        return values;
    }

    @Override
    public void close() {
        table.close();
    }
}
