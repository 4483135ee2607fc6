package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the blobs of one layer lie in files.
 *
 * @param slices of every expert: consecutive parts of the blob from its start, or of what the blob is made from
 * @param scales factors of every expert in the order gate, up, down; empty when the slices hold the tail or there is none
 * @param maker makes blobs from what the slices hold; null when that is the blob itself
 */
public record BlobSlices(
        ExpertLayout layout,
        List<List<FileSlice>> slices,
        List<float[]> scales,
        @Nullable Maker maker) {
    /** Makes the matrices of a blob from bytes that were read. */
    public interface Maker {
        /** Writes gate, up and down to the start of {@code blob}. */
        void make(int expert, MemorySegment bytes, MemorySegment blob);
    }

    /** Slices that hold blobs as they are used. */
    public BlobSlices(ExpertLayout layout, List<List<FileSlice>> slices, List<float[]> scales) {
        this(layout, slices, scales, null);
    }

    /**
     * Slices of the tensors of a model in place.
     *
     * @throws ModelFormatException when the experts lie in no files
     */
    public static BlobSlices of(StoredExperts stored, List<Path> files) {
        int experts = stored.layout().experts();
        List<StoredMatrices> matrices = List.of(stored.gate(), stored.up(), stored.down());
        boolean made = matrices.stream().anyMatch(matrix -> matrix instanceof StoredMatrices.Converted);
        List<List<FileSlice>> slices = new ArrayList<>();
        for (int expert = 0; expert < experts; expert++) {
            List<FileSlice> parts = new ArrayList<>();
            for (StoredMatrices matrix : matrices) {
                add(parts, matrix, expert, files);
            }
            slices.add(joined(parts));
        }
        return new BlobSlices(stored.layout(), slices, stored.scales(), made ? Matrices.of(matrices) : null);
    }

    /** Slices that follow each other in a file as one. */
    private static List<FileSlice> joined(List<FileSlice> parts) {
        List<FileSlice> joined = new ArrayList<>();
        for (FileSlice part : parts) {
            FileSlice last = joined.isEmpty() ? null : joined.getLast();
            if (last != null && last.file() == part.file() && last.offset() + last.bytes() == part.offset()) {
                joined.set(joined.size() - 1, new FileSlice(last.file(), last.offset(), last.bytes() + part.bytes()));
            } else {
                joined.add(part);
            }
        }
        return List.copyOf(joined);
    }

    private static void add(List<FileSlice> parts, StoredMatrices matrices, int expert, List<Path> files) {
        switch (matrices) {
            case StoredMatrices.InPlace inPlace -> parts.add(slice(inPlace, expert, files));
            case StoredMatrices.Converted converted -> {
                List<TensorEntry> sources = converted.converter().sources(expert);
                if (sources.isEmpty()) {
                    throw new ModelFormatException(files.getFirst()
                            + ": its experts lie in no file that could be read while the model runs; give it more memory or"
                            + " write it to a file with strata synth");
                }
                for (TensorEntry source : sources) {
                    parts.add(new FileSlice(number(source.file(), files), source.offset(), source.bytes()));
                }
            }
        }
    }

    private static FileSlice slice(StoredMatrices.InPlace matrices, int expert, List<Path> files) {
        return new FileSlice(number(matrices.file(expert), files), matrices.offset(expert), matrices.bytes());
    }

    private static int number(Path file, List<Path> files) {
        int number = files.indexOf(file);
        if (number < 0) {
            throw new IllegalArgumentException(file + " is not among the model's files");
        }
        return number;
    }

    List<FileSlice> slices(int expert) {
        return slices.get(expert);
    }

    /** Slices of the expert that has most. */
    int mostSlices() {
        return slices.stream().mapToInt(List::size).max().orElse(0);
    }

    /** Bytes that are read for an expert. */
    long readBytes(int expert) {
        return slices.get(expert).stream().mapToLong(FileSlice::bytes).sum();
    }

    /** Writes what does not come from the files. */
    void finish(int expert, MemorySegment blob) {
        if (layout.scaled() && !scales.isEmpty()) {
            BlobViews.writeTail(layout, blob, scales.get(0)[expert], scales.get(1)[expert], scales.get(2)[expert]);
        }
    }

    /**
     * Matrices of a layer of which some are made and others copied.
     *
     * @param lengths bytes that are read for each matrix
     */
    private record Matrices(List<StoredMatrices> matrices, List<Long> lengths) implements Maker {
        static Matrices of(List<StoredMatrices> matrices) {
            List<Long> lengths = new ArrayList<>();
            for (StoredMatrices matrix : matrices) {
                lengths.add(
                        matrix instanceof StoredMatrices.Converted converted
                                ? converted.converter().sources(0).stream()
                                        .mapToLong(TensorEntry::bytes)
                                        .sum()
                                : matrix.bytes());
            }
            return new Matrices(matrices, lengths);
        }

        @Override
        public void make(int expert, MemorySegment bytes, MemorySegment blob) {
            long from = 0;
            long at = 0;
            for (int i = 0; i < lengths.size(); i++) {
                StoredMatrices matrix = matrices.get(i);
                MemorySegment source = bytes.asSlice(from, lengths.get(i));
                if (matrix instanceof StoredMatrices.Converted converted) {
                    converted.converter().write(expert, source, blob.asSlice(at, matrix.bytes()));
                } else {
                    MemorySegment.copy(source, 0, blob, at, matrix.bytes());
                }
                from += lengths.get(i);
                at += matrix.bytes();
            }
        }
    }
}
