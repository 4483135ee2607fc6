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

    private SynthModelFiles(
            Path path, Map<String, Object> metadata, List<Conversion.Item> items, Arena arena) {
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
                Path.of(specification),
                Collections.unmodifiableMap(metadata),
                conversion.items(),
                Arena.ofShared());
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
    public Optional<String> companion(String fileName) {
        return Optional.empty();
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

    private MemorySegment make(Conversion.Item item) {
        GgufTensor tensor = item.target();
        MemorySegment target = arena.allocate(tensor.bytes(), 64);
        Rows rows = item.source().rows();
        long step = Math.max(1, PIECE_BYTES / tensor.rowBytes());
        long pieces = (rows.count() + step - 1) / step;
        LongStream.range(0, pieces).parallel().forEach(piece -> {
            long first = piece * step;
            long count = Math.min(step, rows.count() - first);
            MemorySegment stored = rows.stored(tensor.type(), first, count);
            if (stored != null) {
                MemorySegment.copy(stored, 0, target, first * tensor.rowBytes(), stored.byteSize());
                return;
            }
            float[] values = new float[rows.width()];
            for (long row = first; row < first + count; row++) {
                rows.read(row, values, 0);
                Quants.encode(
                        tensor.type(), values, 0, values.length, target, row * tensor.rowBytes());
            }
        });
        return target.asReadOnly();
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
