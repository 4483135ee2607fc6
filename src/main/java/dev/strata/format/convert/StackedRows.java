package dev.strata.format.convert;

import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Matrices of one width, one below the other. */
record StackedRows(List<Rows> parts, long[] starts) implements Rows {
    static StackedRows of(List<Rows> parts) {
        long[] starts = new long[parts.size() + 1];
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i).width() != parts.getFirst().width()) {
                throw new IllegalArgumentException("rows of " + parts.getFirst().width() + " and of "
                        + parts.get(i).width() + " elements cannot be stacked");
            }
            starts[i + 1] = starts[i] + parts.get(i).count();
        }
        return new StackedRows(List.copyOf(parts), starts);
    }

    @Override
    public QuantType storedType() {
        return parts.getFirst().storedType();
    }

    @Override
    public long count() {
        return starts[parts.size()];
    }

    @Override
    public int width() {
        return parts.getFirst().width();
    }

    @Override
    public void read(long row, float[] target, int at) {
        int part = part(row);
        parts.get(part).read(row - starts[part], target, at);
    }

    @Override
    public @Nullable MemorySegment stored(QuantType type, long first, long rows) {
        int part = part(first);
        return first + rows <= starts[part + 1] ? parts.get(part).stored(type, first - starts[part], rows) : null;
    }

    @Override
    public float storedFactor(long row) {
        int part = part(row);
        return parts.get(part).storedFactor(row - starts[part]);
    }

    private int part(long row) {
        int found = Arrays.binarySearch(starts, row);
        int part = found >= 0 ? found : -found - 2;
        while (starts[part + 1] == row) {
            part++;
        }
        return part;
    }
}
