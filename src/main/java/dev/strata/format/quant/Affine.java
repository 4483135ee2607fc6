package dev.strata.format.quant;

/**
 * Fits numbers by {@code scale * q + minimum} with q of 0 to {@code top}: search over shortened ranges, least squares for both
 * parameters.
 *
 * @param clampToZero whether the minimum must not be above zero (types that store its negative unsigned)
 */
record Affine(int top, boolean clampToZero) {
    private static final int CANDIDATES = 14;
    private static final int REFINEMENTS = 3;

    /** Scale and minimum, and how much of the sum of squares they leave; NaN where that was not worked out. */
    record Fit(float scale, float minimum, double error) {}

    Fit fit(float[] source, int at, int count) {
        float least = Float.POSITIVE_INFINITY;
        float most = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < count; i++) {
            least = Math.min(least, source[at + i]);
            most = Math.max(most, source[at + i]);
        }
        if (clampToZero) {
            least = Math.min(least, 0);
        }
        if (most <= least) {
            return new Fit(0, least, Double.NaN);
        }
        Fit best = new Fit((most - least) / top, least, Double.POSITIVE_INFINITY);
        for (int c = 0; c < CANDIDATES; c++) {
            float shrink = top <= 3 ? 0.4f + 0.65f * c / CANDIDATES : 0.78f + 0.27f * c / CANDIDATES;
            float scale = (most - least) / top * shrink;
            // A shorter range is placed around the middle of the numbers.
            float minimum = least + (most - least - scale * top) * (clampToZero && least == 0 ? 0 : 0.5f);
            Fit fitted = refined(source, at, count, scale, minimum);
            if (fitted.error < best.error) {
                best = fitted;
            }
        }
        for (int i = 0; i < REFINEMENTS; i++) {
            Fit fitted = refined(source, at, count, best.scale, best.minimum);
            if (fitted.error >= best.error) {
                break;
            }
            best = fitted;
        }
        return best;
    }

    int quantize(float x, float scale, float minimum) {
        return scale == 0 ? 0 : quantizeBy(x - minimum, 1 / scale);
    }

    private int quantizeBy(float x, float inverse) {
        int nearest = (int) (x * inverse + 0.5f);
        return nearest < 0 ? 0 : Math.min(nearest, top);
    }

    /** Scale and minimum of least squares for the quants that the given ones lead to, and their error. */
    private Fit refined(float[] source, int at, int count, float scale, float minimum) {
        float inverse = 1 / scale;
        float sumX = 0;
        float sumXx = 0;
        float sumQx = 0;
        int sumQ = 0;
        int sumQq = 0;
        for (int i = at; i < at + count; i++) {
            float x = source[i];
            int q = quantizeBy(x - minimum, inverse);
            sumX += x;
            sumXx += x * x;
            sumQx += q * x;
            sumQ += q;
            sumQq += q * q;
        }
        double determinant = (double) count * sumQq - (double) sumQ * sumQ;
        if (determinant <= 0) {
            return new Fit(scale, minimum, Double.POSITIVE_INFINITY);
        }
        double bestScale = ((double) count * sumQx - (double) sumQ * sumX) / determinant;
        double bestMinimum = (sumX - bestScale * sumQ) / count;
        if (clampToZero && bestMinimum > 0) {
            bestMinimum = 0;
            bestScale = (double) sumQx / sumQq;
        }
        double error = sumXx
                - 2 * (bestScale * sumQx + bestMinimum * sumX)
                + bestScale * bestScale * sumQq
                + 2 * bestScale * bestMinimum * sumQ
                + bestMinimum * bestMinimum * count;
        return bestScale > 0
                ? new Fit((float) bestScale, (float) bestMinimum, error)
                : new Fit(scale, minimum, Double.POSITIVE_INFINITY);
    }
}
