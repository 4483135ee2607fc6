package dev.strata.synth;

import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.convert.Rows;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Rows made of pooled blocks. */
record PoolRows(BlockPool pool, QuantType storedType, long count, int width, long seed, float factor) implements Rows {
    PoolRows {
        if (width % pool.unitElements() != 0) {
            throw new IllegalArgumentException(
                    "rows of " + width + " are not made of units of " + pool.unitElements() + " elements");
        }
    }

    @Override
    public void read(long row, float[] target, int at) {
        Quants.decode(storedType, bytes(row, 1), 0, target, at, width);
        for (int i = at; i < at + width; i++) {
            target[i] *= factor;
        }
    }

    @Override
    public @Nullable MemorySegment stored(QuantType type, long first, long rows) {
        return type == storedType ? bytes(first, rows) : null;
    }

    @Override
    public float storedFactor(long row) {
        return factor;
    }

    /** Writes the bytes of {@code rows} rows from {@code first} on. */
    void fill(long first, long rows, MemorySegment target) {
        long units = width / pool.unitElements();
        pool.fill(seed, first * units, rows * units, target);
    }

    private MemorySegment bytes(long first, long rows) {
        MemorySegment target = MemorySegment.ofArray(new byte[Math.toIntExact(rows * storedType.bytes(width))]);
        fill(first, rows, target);
        return target;
    }
}
