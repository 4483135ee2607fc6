package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * Guesses how much of the experts' files is in the page cache: touches some pages at random and counts those that answer faster than
 * any drive. A warm file is read faster through the cache, a cold one past it.
 */
public final class PageCacheProbe {
    /** Share of quick pages from which on a file counts as warm. */
    public static final double WARM = 0.9;

    private static final int SAMPLES = 64;
    private static final long QUICK_NANOS = 30_000;

    private PageCacheProbe() {}

    /**
     * Share of sampled pages that were in RAM; 1 where nothing lies in files.
     *
     * @param data the mapped bytes of a tensor from which matrices are made
     */
    public static double cachedShare(List<StoredExperts> layers, Function<TensorEntry, MemorySegment> data) {
        SplittableRandom random = new SplittableRandom(17);
        int quick = 0;
        int sampled = 0;
        int sum = 0;
        for (int i = 0; i < SAMPLES; i++) {
            StoredExperts layer = layers.get(random.nextInt(layers.size()));
            MemorySegment stored =
                    stored(layer.down(), random.nextInt(layer.layout().experts()), data);
            if (stored.byteSize() > 0) {
                long at = random.nextLong(stored.byteSize());
                long start = System.nanoTime();
                sum += stored.get(JAVA_BYTE, at);
                long nanos = System.nanoTime() - start;
                sampled++;
                // The sum keeps the reads; it can never be that large.
                quick += nanos < QUICK_NANOS || sum == Integer.MAX_VALUE ? 1 : 0;
            }
        }
        return sampled == 0 ? 1 : quick / (double) sampled;
    }

    /** What files hold of an expert's matrix; nothing when it is made from something else. */
    private static MemorySegment stored(
            StoredMatrices matrices, int expert, Function<TensorEntry, MemorySegment> data) {
        return switch (matrices) {
            case StoredMatrices.InPlace inPlace -> inPlace.data(expert);
            case StoredMatrices.Converted converted ->
                converted.converter().sources(expert).stream()
                        .findFirst()
                        .map(data)
                        .orElse(MemorySegment.NULL);
        };
    }
}
