package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** A matrix that is read a row at a time, so that tensors larger than memory can be changed on their way from file to file. */
public interface Rows {
    /** Number of rows. */
    long count();

    /** Elements of a row. */
    int width();

    /** Reads row {@code row} to {@code target} from {@code at} on. Any thread may call it. */
    void read(long row, float[] target, int at);

    /**
     * The bytes of {@code rows} rows from {@code first} on where they are stored in {@code type}, else null. They give the rows once
     * multiplied by {@link #storedFactor}.
     */
    default @Nullable MemorySegment stored(QuantType type, long first, long rows) {
        return null;
    }

    /** What the bytes of {@link #stored} at row {@code row} have to be multiplied by. */
    default float storedFactor(long row) {
        return 1;
    }

    /** The type that the rows are stored in, or the nearest of plain floats where they are made from others. */
    default QuantType storedType() {
        return QuantType.F32;
    }

    /** A stored tensor, its outer dimensions taken together as rows. */
    static Rows of(ModelFiles files, TensorEntry tensor) {
        return of(files.data(tensor), tensor.type(), Math.toIntExact(tensor.rowElements()));
    }

    /** Rows of {@code width} elements that lie one after another. */
    static Rows of(MemorySegment data, QuantType type, int width) {
        return new StoredRows(data, type, width);
    }

    /** The same elements cut into rows of another width; rows must be whole multiples of each other's. */
    default Rows reshaped(int width) {
        if (width == width()) {
            return this;
        }
        if (width() == 1 || count() == 1) {
            Rows all = this;
            float[] values = new float[Math.toIntExact(count() * width())];
            for (int row = 0; row < count(); row++) {
                all.read(row, values, row * width());
            }
            return new HeldRows(values, width);
        }
        throw new IllegalArgumentException("rows of " + width() + " are not recut to " + width);
    }

    /** Each element changed by {@code function}. */
    default Rows mapped(DoubleUnaryOperator function) {
        Rows source = this;
        return new Derived(count(), width(), storedType(), (row, target, at) -> {
            source.read(row, target, at);
            for (int i = at; i < at + source.width(); i++) {
                target[i] = (float) function.applyAsDouble(target[i]);
            }
        });
    }

    /** Row r of the result is row {@code source.applyAsLong(r)} of this; {@code count} rows. */
    default Rows picked(long count, LongUnaryOperator source) {
        Rows from = this;
        // Rearranged rows are no longer found by their blocks and factor, and encoding them again would cost accuracy.
        QuantType type = storedType() == QuantType.NVFP4 ? QuantType.BF16 : storedType();
        return new Derived(count, width(), type, (row, target, at) -> from.read(source.applyAsLong(row), target, at));
    }

    /** {@code count} rows from {@code first} on. */
    default Rows slice(long first, long count) {
        return new SlicedRows(this, first, count);
    }

    /** Column c of the result is column {@code source.applyAsInt(c)} of this. */
    default Rows columns(IntUnaryOperator source) {
        Rows from = this;
        int width = width();
        return new Derived(
                count(), width, storedType() == QuantType.NVFP4 ? QuantType.BF16 : storedType(), (row, target, at) -> {
                    float[] whole = new float[width];
                    from.read(row, whole, 0);
                    for (int i = 0; i < width; i++) {
                        target[at + i] = whole[source.applyAsInt(i)];
                    }
                });
    }

    /** The matrices side by side: row r is row r of each in turn. */
    static Rows beside(Rows left, Rows right) {
        return new Derived(left.count(), left.width() + right.width(), left.storedType(), (row, target, at) -> {
            left.read(row, target, at);
            right.read(row, target, at + left.width());
        });
    }

    /** The matrices one below the other. */
    static Rows stacked(List<Rows> parts) {
        return parts.size() == 1 ? parts.getFirst() : StackedRows.of(parts);
    }

    /** Reads one row of a matrix made from others. */
    @FunctionalInterface
    interface Reader {
        void read(long row, float[] target, int at);
    }

    /** A matrix given by how its rows are read. */
    record Derived(long count, int width, QuantType storedType, Reader reader) implements Rows {
        @Override
        public void read(long row, float[] target, int at) {
            reader.read(row, target, at);
        }
    }

    /** Rows held in memory: small parameters. */
    record HeldRows(float[] values, int width) implements Rows {
        @Override
        public long count() {
            return values.length / width;
        }

        @Override
        public void read(long row, float[] target, int at) {
            System.arraycopy(values, Math.toIntExact(row * width), target, at, width);
        }
    }

    /** Rows in a file. */
    record StoredRows(MemorySegment data, QuantType type, int width) implements Rows {
        @Override
        public QuantType storedType() {
            return type;
        }

        @Override
        public long count() {
            return data.byteSize() / type.bytes(width);
        }

        @Override
        public void read(long row, float[] target, int at) {
            Quants.decode(type, data, row * type.bytes(width), target, at, width);
        }

        @Override
        public @Nullable MemorySegment stored(QuantType wanted, long first, long rows) {
            long rowBytes = type.bytes(width);
            return wanted == type ? data.asSlice(first * rowBytes, rows * rowBytes) : null;
        }

        @Override
        public Rows reshaped(int other) {
            return new StoredRows(data, type, other);
        }
    }

    /** Some rows of another matrix. */
    record SlicedRows(Rows source, long first, long count) implements Rows {
        @Override
        public QuantType storedType() {
            return source.storedType();
        }

        @Override
        public int width() {
            return source.width();
        }

        @Override
        public void read(long row, float[] target, int at) {
            source.read(first + row, target, at);
        }

        @Override
        public @Nullable MemorySegment stored(QuantType type, long from, long rows) {
            return source.stored(type, first + from, rows);
        }

        @Override
        public float storedFactor(long row) {
            return source.storedFactor(first + row);
        }
    }
}
