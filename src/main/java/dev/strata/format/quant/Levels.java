package dev.strata.format.quant;

import java.util.stream.IntStream;

/** The whole numbers that the quants of a type stand for, ascending; finding the nearest and the scale that fits them best. */
final class Levels {
    /** Refinements of the best candidate scale by least squares. */
    private static final int REFINEMENTS = 3;

    private final float[] values;
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
        this.symmetric = mirrored;
        // Few levels want much clipping of the extremes, many want hardly any.
        this.candidates = values.length <= 8 ? 32 : values.length <= 16 ? 18 : 10;
        this.smallestStretch = values.length <= 8 ? 0.7f : values.length <= 16 ? 0.85f : 0.95f;
        this.largestStretch = values.length <= 8 ? 2.6f : values.length <= 16 ? 1.5f : 1.15f;
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
            int index = Math.round(x - values[0]);
            return Math.clamp(index, 0, values.length - 1);
        }
        int low = 0;
        int high = values.length - 1;
        while (high - low > 1) {
            int middle = low + high >>> 1;
            if (values[middle] <= x) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return x - values[low] <= values[high] - x ? low : high;
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
        float inverse = 1 / scale;
        double product = 0;
        double square = 0;
        for (int i = 0; i < count; i++) {
            float x = source[at + i];
            float level = values[nearest(x * inverse)];
            float weight = weights.length == 0 ? 1 : weights[i];
            product += weight * x * level;
            square += weight * level * level;
        }
        return square == 0 || product * scale < 0 ? 0 : product * product / square;
    }

    private float refined(float[] source, int at, int count, float[] weights, float scale) {
        if (scale == 0) {
            return 0;
        }
        float inverse = 1 / scale;
        double product = 0;
        double square = 0;
        for (int i = 0; i < count; i++) {
            float x = source[at + i];
            float level = values[nearest(x * inverse)];
            float weight = weights.length == 0 ? 1 : weights[i];
            product += weight * x * level;
            square += weight * level * level;
        }
        return square == 0 ? scale : (float) (product / square);
    }
}
