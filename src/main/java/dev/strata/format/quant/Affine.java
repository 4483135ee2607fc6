package dev.strata.format.quant;

/**
 * Fits numbers by {@code scale * q + minimum} with q of 0 to {@code top}: grid search over scales, least squares for both parameters.
 *
 * @param clampToZero whether the minimum must not be above zero (types that store its negative unsigned)
 */
record Affine(int top, boolean clampToZero) {
    private static final int CANDIDATES = 21;

    /** Scale and minimum of least squared error. */
    record Fit(float scale, float minimum) {}

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
            return new Fit(0, least);
        }
        Fit best = new Fit((most - least) / top, least);
        double bestError = error(source, at, count, best);
        for (int c = 0; c < CANDIDATES; c++) {
            float shrink = top <= 3 ? 0.4f + 0.65f * c / CANDIDATES : 0.78f + 0.27f * c / CANDIDATES;
            float scale = (most - least) / top * shrink;
            // A shorter range is placed around the middle of the numbers.
            float minimum = least + (most - least - scale * top) * (clampToZero && least == 0 ? 0 : 0.5f);
            Fit fitted = new Fit(scale, minimum);
            for (int i = 0; i < 3; i++) {
                fitted = refined(source, at, count, fitted);
            }
            double error = error(source, at, count, fitted);
            if (error < bestError) {
                bestError = error;
                best = fitted;
            }
        }
        return best;
    }

    int quantize(float x, float scale, float minimum) {
        return scale == 0 ? 0 : Math.clamp(Math.round((x - minimum) / scale), 0, top);
    }

    private double error(float[] source, int at, int count, Fit fit) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            float x = source[at + i];
            double difference = x - (fit.scale * quantize(x, fit.scale, fit.minimum) + fit.minimum);
            sum += difference * difference;
        }
        return sum;
    }

    private Fit refined(float[] source, int at, int count, Fit fit) {
        double sumX = 0;
        double sumQ = 0;
        double sumQq = 0;
        double sumQx = 0;
        for (int i = 0; i < count; i++) {
            float x = source[at + i];
            int q = quantize(x, fit.scale, fit.minimum);
            sumX += x;
            sumQ += q;
            sumQq += q * q;
            sumQx += q * x;
        }
        double determinant = count * sumQq - sumQ * sumQ;
        if (determinant <= 0) {
            return fit;
        }
        double scale = (count * sumQx - sumQ * sumX) / determinant;
        double minimum = (sumX - scale * sumQ) / count;
        if (clampToZero && minimum > 0) {
            minimum = 0;
            scale = sumQx / sumQq;
        }
        return scale > 0 ? new Fit((float) scale, (float) minimum) : fit;
    }
}
