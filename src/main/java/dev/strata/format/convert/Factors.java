package dev.strata.format.convert;

import dev.strata.format.QuantType;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Rows whose slices (experts) have a factor each: values stored apart from it, or divided by it to be stored. NVFP4 needs one because
 * its block scales reach down to 2^-9 only.
 */
final class Factors {
    /** Largest block scale times largest value of NVFP4. */
    private static final float NVFP4_TOP = 448 * 6;

    private Factors() {}

    /** Rows stored with factors: what they stand for is the product. */
    static Rows applied(Rows stored, float[] factors) {
        long slice = stored.count() / factors.length;
        return new Applied(stored, factors.clone(), slice);
    }

    /** The factor for each of {@code slices} slices: that of its stored NVFP4 blocks, or one that makes the most of their range. */
    static float[] choose(Rows rows, int slices) {
        float[] factors = new float[slices];
        long slice = rows.count() / slices;
        float[] values = new float[rows.width()];
        for (int i = 0; i < slices; i++) {
            if (rows.stored(QuantType.NVFP4, i * slice, 1) != null) {
                factors[i] = rows.storedFactor(i * slice);
                continue;
            }
            float largest = 0;
            for (long row = i * slice; row < (i + 1) * slice; row++) {
                rows.read(row, values, 0);
                for (float value : values) {
                    largest = Math.max(largest, Math.abs(value));
                }
            }
            factors[i] = largest == 0 || !Float.isFinite(largest) ? 1 : largest / NVFP4_TOP;
        }
        return factors;
    }

    /** {@link #choose}, done at the first {@link #get} and kept. */
    static final class Chosen {
        private final Rows rows;
        private final int slices;
        private float @Nullable [] factors;

        Chosen(Rows rows, int slices) {
            this.rows = rows;
            this.slices = slices;
        }

        int slices() {
            return slices;
        }

        synchronized float[] get() {
            float[] known = factors;
            if (known == null) {
                known = choose(rows, slices);
                factors = known;
            }
            return known;
        }
    }

    /** The rows divided by the factors of their slices, to be stored beside them. */
    static Rows removed(Rows rows, float[] factors) {
        return new Removed(rows, factors.clone(), rows.count() / factors.length);
    }

    private static void readScaled(Rows source, long row, float factor, float[] target, int at) {
        source.read(row, target, at);
        for (int i = at; i < at + source.width(); i++) {
            target[i] *= factor;
        }
    }

    private record Applied(Rows source, float[] factors, long slice) implements Rows {
        @Override
        public long count() {
            return source.count();
        }

        @Override
        public int width() {
            return source.width();
        }

        @Override
        public QuantType storedType() {
            return source.storedType();
        }

        @Override
        public void read(long row, float[] target, int at) {
            readScaled(source, row, storedFactor(row), target, at);
        }

        @Override
        public @Nullable MemorySegment stored(QuantType type, long first, long rows) {
            return source.stored(type, first, rows);
        }

        @Override
        public float storedFactor(long row) {
            return factors[(int) (row / slice)];
        }
    }

    private record Removed(Rows source, float[] factors, long slice) implements Rows {
        @Override
        public long count() {
            return source.count();
        }

        @Override
        public int width() {
            return source.width();
        }

        @Override
        public void read(long row, float[] target, int at) {
            readScaled(source, row, 1 / factors[(int) (row / slice)], target, at);
        }

        @Override
        public @Nullable MemorySegment stored(QuantType type, long first, long rows) {
            boolean same = true;
            for (long i = first / slice; i <= (first + rows - 1) / slice; i++) {
                same &= source.storedFactor(Math.max(first, i * slice)) == factors[(int) i];
            }
            return same ? source.stored(type, first, rows) : null;
        }
    }
}
