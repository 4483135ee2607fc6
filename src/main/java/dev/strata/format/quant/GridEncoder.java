package dev.strata.format.quant;

/**
 * Fits 256 elements by rows of a grid with signs, a step (2s+1) for each group and one float16 scale: value = scale x unit x (2s+1) x
 * row element x sign.
 *
 * @param groupSize elements that share a step
 * @param evenSigns whether the signs of each eight elements must have even parity
 * @param unit the factor of the layout beside scale and step
 */
record GridEncoder(Grid grid, int groupSize, boolean evenSigns, float unit) {
    private static final int STEPS = 16;
    private static final int CANDIDATES = 14;
    private static final Levels ODD = Levels.of(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);

    /** Result: scale, the step of each group, the row of each grid width, the signs of each eight elements. */
    record Fitted(float scale, int[] steps, int[] rows, int[] signs) {}

    Fitted fit(float[] source, int at) {
        GridSearch search = GridSearch.of(grid);
        float[] magnitudes = new float[256];
        int[] signs = signs(source, at, magnitudes);
        int groups = 256 / groupSize;
        float[] scales = new float[groups];
        float[] weights = new float[groups];
        for (int group = 0; group < groups; group++) {
            scales[group] = groupScale(search, magnitudes, group * groupSize);
            weights[group] = 1;
        }
        float scale = KEncoders.half(ODD.fit(scales, 0, groups, weights) / unit);
        int[] steps = new int[groups];
        int[] rows = new int[256 / grid.width()];
        double product = 0;
        double square = 0;
        for (int group = 0; group < groups; group++) {
            steps[group] = bestStep(search, magnitudes, group, scale, scales[group]);
            float groupScale = scale * unit * (2 * steps[group] + 1);
            int first = group * groupSize / grid.width();
            for (int i = 0; i < groupSize / grid.width(); i++) {
                int from = (first + i) * grid.width();
                rows[first + i] = search.nearest(magnitudes, from, groupScale);
                for (int j = 0; j < grid.width(); j++) {
                    double value = unit * (2 * steps[group] + 1) * grid.value(rows[first + i], j);
                    product += value * magnitudes[from + j];
                    square += value * value;
                }
            }
        }
        float fitted = square == 0 ? 0 : KEncoders.half((float) (product / square));
        return new Fitted(Math.max(0, fitted), steps, rows, signs);
    }

    /** Splits the elements into magnitudes and signs; where parity must be even, the smallest of an odd eight changes its sign. */
    private int[] signs(float[] source, int at, float[] magnitudes) {
        int[] signs = new int[32];
        for (int i = 0; i < 32; i++) {
            int smallest = 8 * i;
            for (int j = 8 * i; j < 8 * i + 8; j++) {
                magnitudes[j] = Math.abs(source[at + j]);
                signs[i] |= source[at + j] < 0 ? 1 << j % 8 : 0;
                smallest = magnitudes[j] < magnitudes[smallest] ? j : smallest;
            }
            if (evenSigns && Integer.bitCount(signs[i]) % 2 != 0) {
                signs[i] ^= 1 << smallest % 8;
                magnitudes[smallest] = -magnitudes[smallest];
            }
        }
        return signs;
    }

    /** The scale of one group that accounts for most of its squares. */
    private float groupScale(GridSearch search, float[] magnitudes, int from) {
        float largest = 0;
        for (int i = from; i < from + groupSize; i++) {
            largest = Math.max(largest, magnitudes[i]);
        }
        if (largest == 0) {
            return 0;
        }
        float best = 0;
        double bestGain = 0;
        for (int c = 0; c < CANDIDATES; c++) {
            float scale = largest / search.largest() / (0.8f + 1.2f * c / CANDIDATES);
            double product = 0;
            double square = 0;
            for (int i = from; i < from + groupSize; i += grid.width()) {
                int row = search.nearest(magnitudes, i, scale);
                for (int j = 0; j < grid.width(); j++) {
                    int value = grid.value(row, j);
                    product += value * magnitudes[i + j];
                    square += value * value;
                }
            }
            double gain = product <= 0 ? 0 : product * product / square;
            if (gain > bestGain) {
                bestGain = gain;
                best = (float) (product / square);
            }
        }
        return best;
    }

    private int bestStep(GridSearch search, float[] magnitudes, int group, float scale, float wanted) {
        if (scale == 0) {
            return 0;
        }
        int start = Math.clamp(Math.round((wanted / (scale * unit) - 1) / 2), 0, STEPS - 1);
        int best = start;
        double bestError = Double.POSITIVE_INFINITY;
        for (int step = Math.max(0, start - 1); step <= Math.min(STEPS - 1, start + 1); step++) {
            float groupScale = scale * unit * (2 * step + 1);
            double error = 0;
            for (int i = group * groupSize; i < (group + 1) * groupSize; i += grid.width()) {
                int row = search.nearest(magnitudes, i, groupScale);
                for (int j = 0; j < grid.width(); j++) {
                    double difference = magnitudes[i + j] - groupScale * grid.value(row, j);
                    error += difference * difference;
                }
            }
            if (error < bestError) {
                bestError = error;
                best = step;
            }
        }
        return best;
    }
}
