package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;

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

    /** Share of sampled pages that were in RAM; 1 where nothing is stored in place. */
    public static double cachedShare(List<StoredExperts> layers) {
        SplittableRandom random = new SplittableRandom(17);
        int quick = 0;
        int sampled = 0;
        int sum = 0;
        for (int i = 0; i < SAMPLES; i++) {
            StoredExperts layer = layers.get(random.nextInt(layers.size()));
            if (layer.down() instanceof StoredMatrices.InPlace matrices) {
                MemorySegment data = matrices.data(random.nextInt(layer.layout().experts()));
                long at = random.nextLong(data.byteSize());
                long start = System.nanoTime();
                sum += data.get(JAVA_BYTE, at);
                long nanos = System.nanoTime() - start;
                sampled++;
                // The sum keeps the reads; it can never be that large.
                quick += nanos < QUICK_NANOS || sum == Integer.MAX_VALUE ? 1 : 0;
            }
        }
        return sampled == 0 ? 1 : quick / (double) sampled;
    }
}
