package dev.strata.format;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The tensors of all files of a model by name. Ranges of the files are mapped when a tensor in them is first asked for; those of experts
 * apart from the others, so that their views can be closed once experts are read in another way.
 */
public final class TensorTable implements AutoCloseable {
    private static final long MOST_GAP = 1 << 20;

    /** Bytes of a file that are mapped together: tensors that follow each other and are all experts, or none of them. */
    private static final class Range {
        final Path file;
        final boolean experts;
        final long start;
        long end;

        @Nullable
        MemorySegment bytes;

        Range(TensorEntry first, boolean experts) {
            this.file = first.file();
            this.experts = experts;
            this.start = first.offset();
            this.end = first.offset();
        }
    }

    private final Map<String, TensorEntry> byName = new LinkedHashMap<>();
    private final List<TensorEntry> inOrder = new ArrayList<>();
    private final Map<String, Range> ranges = new HashMap<>();
    private final Map<Path, Long> sizes = new HashMap<>();
    private final Arena arena = Arena.ofShared();
    private Arena expertArena = Arena.ofShared();

    /**
     * Adds the tensors of one file.
     *
     * @throws ModelFormatException when another file has a tensor of the same name
     */
    public void add(MappedFile file, List<TensorEntry> tensors) {
        sizes.put(file.path(), file.size());
        for (TensorEntry tensor : tensors) {
            TensorEntry other = byName.putIfAbsent(tensor.name(), tensor);
            if (other != null) {
                throw new ModelFormatException(
                        tensor.file() + ": tensor " + tensor.name() + " is also in " + other.file());
            }
            inOrder.add(tensor);
        }
        Range range = null;
        for (TensorEntry tensor : tensors.stream()
                .sorted(Comparator.comparingLong(TensorEntry::offset))
                .toList()) {
            boolean experts = TensorRole.of(tensor.name()) == TensorRole.EXPERTS
                    || TensorRole.ofHuggingFace(tensor.name()) == TensorRole.EXPERTS;
            if (range == null || range.experts != experts || tensor.offset() - range.end > MOST_GAP) {
                range = new Range(tensor, experts);
            }
            range.end = Math.max(range.end, tensor.offset() + tensor.bytes());
            ranges.put(tensor.name(), range);
        }
    }

    public List<TensorEntry> tensors() {
        return Collections.unmodifiableList(inOrder);
    }

    public Optional<TensorEntry> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /**
     * The bytes of a tensor of this table.
     *
     * @throws ModelFormatException when the file is not the one that was opened
     */
    public synchronized MemorySegment data(TensorEntry tensor) {
        Range range = ranges.get(tensor.name());
        if (range == null || !range.file.equals(tensor.file())) {
            throw new IllegalArgumentException("tensor " + tensor.name() + " is not one of this model");
        }
        MemorySegment bytes = range.bytes;
        if (bytes == null) {
            bytes = map(range);
            range.bytes = bytes;
        }
        return bytes.asSlice(tensor.offset() - range.start, tensor.bytes());
    }

    private MemorySegment map(Range range) {
        try (FileChannel channel = FileChannel.open(range.file, StandardOpenOption.READ)) {
            Long size = sizes.get(range.file);
            if (size == null || channel.size() != size) {
                throw new ModelFormatException(range.file + ": changed while it was opened");
            }
            long length = range.end - range.start;
            return length == 0
                    ? MemorySegment.ofArray(new byte[0])
                    : channel.map(
                            FileChannel.MapMode.READ_ONLY, range.start, length, range.experts ? expertArena : arena);
        } catch (IOException exception) {
            throw new ModelFormatException(range.file + ": cannot be mapped: " + exception.getMessage(), exception);
        }
    }

    /** Closes the views of experts; whoever asks for one later gets a new one. Returns the bytes that were mapped. */
    // The new arena is this table's own and is closed with it.
    @SuppressWarnings("MustBeClosedChecker")
    public synchronized long closeExperts() {
        long closed = 0;
        for (Range range : ranges.values()) {
            if (range.experts && range.bytes != null) {
                closed += range.end - range.start;
                range.bytes = null;
            }
        }
        expertArena.close();
        expertArena = Arena.ofShared();
        return closed;
    }

    /** Closes all views. */
    @Override
    public synchronized void close() {
        if (arena.scope().isAlive()) {
            arena.close();
            expertArena.close();
        }
    }
}
