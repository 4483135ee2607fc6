package dev.strata.expert;

import dev.strata.format.QuantType;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/**
 * The same matrix (gate, up or down) of all experts of a layer, as the files hold it: a slice of one stacked tensor each, or a tensor
 * each.
 */
public sealed interface StoredMatrices {
    QuantType type();

    /** Bytes of one matrix. */
    long bytes();

    /** Writes an expert's matrix to the start of {@code target}. */
    void copy(int expert, MemorySegment target);

    /** Matrices that the files hold as they are used. */
    sealed interface InPlace extends StoredMatrices {
        /** File that holds an expert's matrix. */
        Path file(int expert);

        /** Position of the matrix in that file. */
        long offset(int expert);

        /** The matrix where it is mapped. */
        MemorySegment data(int expert);

        @Override
        default void copy(int expert, MemorySegment target) {
            MemorySegment.copy(data(expert), 0, target, 0, bytes());
        }
    }

    /**
     * Slices of a stacked tensor.
     *
     * @param type of the matrices, which a tensor of bytes does not tell
     * @param data the whole tensor, mapped
     * @param first bytes before the first expert's matrix
     * @param stride bytes from one expert to the next
     */
    record Stacked(QuantType type, TensorEntry tensor, MemorySegment data, long first, long stride, long bytes)
            implements InPlace {
        @Override
        public Path file(int expert) {
            return tensor.file();
        }

        @Override
        public long offset(int expert) {
            return tensor.offset() + first + expert * stride;
        }

        @Override
        public MemorySegment data(int expert) {
            return data.asSlice(first + expert * stride, bytes);
        }
    }

    /** One tensor an expert. */
    record Separate(List<TensorEntry> tensors, List<MemorySegment> segments) implements InPlace {
        @Override
        public QuantType type() {
            return tensors.getFirst().type();
        }

        @Override
        public Path file(int expert) {
            return tensors.get(expert).file();
        }

        @Override
        public long offset(int expert) {
            return tensors.get(expert).offset();
        }

        @Override
        public long bytes() {
            return tensors.getFirst().bytes();
        }

        @Override
        public MemorySegment data(int expert) {
            return segments.get(expert);
        }
    }

    /** Matrices that have to be made from what the files hold, such as other packings of the same values. */
    record Converted(QuantType type, long bytes, Converter converter) implements StoredMatrices {
        @Override
        public void copy(int expert, MemorySegment target) {
            converter.write(expert, target);
        }
    }

    /** Makes matrices; any thread may call it. */
    @FunctionalInterface
    interface Converter {
        /** Writes an expert's matrix to the start of {@code target}. */
        void write(int expert, MemorySegment target);

        /** The tensors to read for an expert's matrix, where it can be made from their bytes alone; else none. */
        default List<TensorEntry> sources(int expert) {
            return List.of();
        }

        /** Makes an expert's matrix from the bytes of its {@link #sources}, one behind the other. */
        default void write(int expert, MemorySegment bytes, MemorySegment target) {
            throw new UnsupportedOperationException("matrices of expert " + expert + " are not made from bytes");
        }
    }
}
