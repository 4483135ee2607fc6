package dev.strata.synth;

import dev.strata.format.ModelFiles;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.Rows;
import dev.strata.format.gguf.GgufTensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;

/** A synthetic model in memory, each tensor made when it is first asked for. It needs as much memory as its tensors are large. */
public final class SynthModelFiles implements ModelFiles {
    private static final long PIECE_BYTES = 8L << 20;

    private final Path path;
    private final Map<String, Object> metadata;
    private final List<TensorEntry> tensors;
    private final Map<String, TensorEntry> byName = new LinkedHashMap<>();
    private final Map<String, Conversion.Item> items = new HashMap<>();
    private final Map<String, MemorySegment> made = new HashMap<>();
    private final Arena arena;

    private SynthModelFiles(Path path, Map<String, Object> metadata, List<Conversion.Item> items, Arena arena) {
        this.path = path;
        this.metadata = metadata;
        this.arena = arena;
        List<TensorEntry> entries = new ArrayList<>();
        long offset = 0;
        for (Conversion.Item item : items) {
            GgufTensor tensor = item.target();
            TensorEntry entry = new TensorEntry(
                    tensor.name(), tensor.type(), tensor.type().name(), tensor.shape(), path, offset, tensor.bytes());
            offset += tensor.bytes();
            entries.add(entry);
            this.byName.put(tensor.name(), entry);
            this.items.put(tensor.name(), item);
        }
        this.tensors = Collections.unmodifiableList(entries);
    }

    /**
     * Prepares the model of a specification; nothing is made yet.
     *
     * @throws IllegalArgumentException naming what is wrong with the specification
     */
    public static SynthModelFiles open(String specification) {
        return of(specification, SynthModel.plan(SynthSpec.parse(specification)));
    }

    @SuppressWarnings("MustBeClosedChecker") // owned by the result, closed with it
    static SynthModelFiles of(String specification, Conversion conversion) {
        Map<String, Object> metadata = new LinkedHashMap<>();
        conversion.plan().metadata().forEach((key, value) -> metadata.put(key, value.value()));
        return new SynthModelFiles(
                Path.of(specification), Collections.unmodifiableMap(metadata), conversion.items(), Arena.ofShared());
    }

    @Override
    public Container container() {
        return Container.GGUF;
    }

    @Override
    public Path path() {
        return path;
    }

    /** The specification in a file's place: the tensors lie in memory only. */
    @Override
    public List<Path> files() {
        return List.of(path);
    }

    @Override
    public Map<String, Object> metadata() {
        return metadata;
    }

    @Override
    public List<TensorEntry> tensors() {
        return tensors;
    }

    @Override
    public Optional<TensorEntry> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    @Override
    public synchronized MemorySegment data(TensorEntry tensor) {
        return made.computeIfAbsent(tensor.name(), name -> {
            Conversion.Item item = items.get(name);
            if (item == null) {
                throw new IllegalArgumentException("tensor " + name + " is not one of this model");
            }
            return make(item);
        });
    }

    @Override
    public boolean makesTensors() {
        return true;
    }

    @Override
    public void copy(TensorEntry tensor, long offset, long bytes, MemorySegment target) {
        Conversion.Item item = items.get(tensor.name());
        if (item == null) {
            throw new IllegalArgumentException("tensor " + tensor.name() + " is not one of this model");
        }
        long rowBytes = item.target().rowBytes();
        if (offset % rowBytes != 0 || bytes % rowBytes != 0) {
            throw new IllegalArgumentException(bytes + " bytes at " + offset + " are not whole rows of " + rowBytes
                    + " bytes of " + tensor.name());
        }
        makeRows(item, offset / rowBytes, bytes / rowBytes, target);
    }

    private MemorySegment make(Conversion.Item item) {
        GgufTensor tensor = item.target();
        MemorySegment target = arena.allocate(tensor.bytes(), 64);
        long rowBytes = tensor.rowBytes();
        long step = Math.max(1, PIECE_BYTES / rowBytes);
        long pieces = (tensor.rows() + step - 1) / step;
        LongStream.range(0, pieces).parallel().forEach(piece -> {
            long first = piece * step;
            long count = Math.min(step, tensor.rows() - first);
            makeRows(item, first, count, target.asSlice(first * rowBytes, count * rowBytes));
        });
        return target.asReadOnly();
    }

    private static void makeRows(Conversion.Item item, long first, long count, MemorySegment target) {
        Rows rows = item.source().rows();
        GgufTensor tensor = item.target();
        if (rows instanceof PoolRows pooled) {
            pooled.fill(first, count, target);
            return;
        }
        float[] values = new float[rows.width()];
        for (long row = 0; row < count; row++) {
            rows.read(first + row, values, 0);
            Quants.encode(tensor.type(), values, 0, values.length, target, row * tensor.rowBytes());
        }
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
