package dev.strata.format.quant;

import java.util.stream.IntStream;

/** The whole numbers that the quants of a type stand for, ascending; finding the nearest and the scale that fits them best. */
final class Levels {
    /** Refinements of the best candidate scale by least squares. */
    private static final int REFINEMENTS = 3;

    private final float[] values;
    /** For each whole number from the first level to the last, the level that is nearest to half below it. */
    private final byte[] nearby;

    private final boolean uniform;
    private final boolean symmetric;
    private final int candidates;
    private final float smallestStretch;
    private final float largestStretch;

    private Levels(int[] values) {
        this.values = new float[values.length];
        boolean even = true;
        boolean mirrored = true;
        for (int i = 0; i < values.length; i++) {
            this.values[i] = values[i];
            even &= i == 0 || values[i] == values[i - 1] + 1;
            mirrored &= values[i] == -values[values.length - 1 - i];
        }
        this.uniform = even;
        this.nearby = nearby(values);
        this.symmetric = mirrored;
        // Few levels want much clipping of the extremes, many want hardly any.
        this.candidates = values.length <= 8 ? 32 : values.length <= 16 ? 18 : 10;
        this.smallestStretch = values.length <= 8 ? 0.7f : values.length <= 16 ? 0.85f : 0.95f;
        this.largestStretch = values.length <= 8 ? 2.6f : values.length <= 16 ? 1.5f : 1.15f;
    }

    private static byte[] nearby(int[] values) {
        byte[] nearby = new byte[values[values.length - 1] - values[0] + 1];
        int level = 0;
        for (int i = 0; i < nearby.length; i++) {
            float x = values[0] + i - 0.5f;
            while (level + 1 < values.length && 2 * x > values[level] + values[level + 1]) {
                level++;
            }
            nearby[i] = (byte) level;
        }
        return nearby;
    }

    static Levels range(int first, int last) {
        return new Levels(IntStream.rangeClosed(first, last).toArray());
    }

    static Levels of(int... ascending) {
        return new Levels(ascending);
    }

    float value(int index) {
        return values[index];
    }

    /** Index of the level nearest to {@code x}. */
    int nearest(float x) {
        if (uniform) {
            int index = (int) (x - values[0] + 0.5f);
            return index < 0 ? 0 : Math.min(index, values.length - 1);
        }
        int whole = (int) (x - values[0] + 0.5f);
        int at = whole < 0 ? 0 : Math.min(whole, nearby.length - 1);
        int low = nearby[at];
        return low + 1 < values.length && 2 * x > values[low] + values[low + 1] ? low + 1 : low;
    }

    /** Fills {@code indices} with the nearest levels of {@code count} numbers at a given scale. */
    void quantize(float[] source, int at, int count, float scale, int[] indices, int to) {
        float inverse = scale == 0 ? 0 : 1 / scale;
        for (int i = 0; i < count; i++) {
            indices[to + i] = nearest(source[at + i] * inverse);
        }
    }

    /**
     * The scale, of either sign, that gives the least squared error over {@code count} numbers, each counted {@code weights} times (once
     * where that array is empty).
     */
    float fit(float[] source, int at, int count, float[] weights) {
        float extreme = 0;
        for (int i = 0; i < count; i++) {
            if (Math.abs(source[at + i]) > Math.abs(extreme)) {
                extreme = source[at + i];
            }
        }
        if (extreme == 0 || !Float.isFinite(1 / extreme)) {
            return 0;
        }
        float best = 0;
        double bestGain = -1;
        float top = values[values.length - 1];
        float bottom = values[0];
        for (int side = 0; side < (symmetric || bottom >= 0 ? 1 : 2); side++) {
            float level = side == 0 ? top : bottom;
            if (level == 0) {
                continue;
            }
            for (int c = 0; c < candidates; c++) {
                float stretch = smallestStretch + (largestStretch - smallestStretch) * c / (candidates - 1);
                float scale = extreme / (level * stretch);
                double gain = gain(source, at, count, weights, scale);
                if (gain > bestGain) {
                    bestGain = gain;
                    best = scale;
                }
            }
        }
        for (int i = 0; i < REFINEMENTS; i++) {
            best = refined(source, at, count, weights, best);
        }
        return best;
    }

    /** How much of the sum of squares the levels at this scale account for once the scale itself is fitted to them. */
    private double gain(float[] source, int at, int count, float[] weights, float scale) {
        Sums sums = sums(source, at, count, weights, scale);
        return sums.square == 0 || sums.product * scale < 0 ? 0 : sums.product * sums.product / sums.square;
    }

    private float refined(float[] source, int at, int count, float[] weights, float scale) {
        if (scale == 0) {
            return 0;
        }
        Sums sums = sums(source, at, count, weights, scale);
        return sums.square == 0 ? scale : (float) (sums.product / sums.square);
    }

    /** Sums of number times level and of level squared, by which least squares gives scale and gain. */
    private record Sums(double product, double square) {}

    private Sums sums(float[] source, int at, int count, float[] weights, float scale) {
        float inverse = 1 / scale;
        float product = 0;
        float square = 0;
        if (weights.length == 0) {
            for (int i = at; i < at + count; i++) {
                float x = source[i];
                float level = values[nearest(x * inverse)];
                product += x * level;
                square += level * level;
            }
        } else {
            for (int i = 0; i < count; i++) {
                float x = source[at + i];
                float level = values[nearest(x * inverse)];
                product += weights[i] * x * level;
                square += weights[i] * level * level;
            }
        }
        return new Sums(product, square);
    }
}
