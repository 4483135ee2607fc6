package dev.strata.format.quant;

import java.util.Arrays;

/**
 * Finds rows of a {@link Grid} near to given magnitudes. For each combination of single-element levels the nearest rows are listed
 * once; a search rounds the magnitudes to levels and compares the rows listed there.
 */
final class GridSearch {
    private static final int LISTED = 12;

    private final Grid grid;
    private final int[] levels;
    private final short[] near;

    private static final class Holder {
        static final GridSearch[] BY_GRID = new GridSearch[Grid.values().length];
    }

    private GridSearch(Grid grid) {
        this.grid = grid;
        byte[] sorted = grid.bytes();
        Arrays.sort(sorted);
        this.levels = distinct(sorted);
        int combinations = (int) Math.round(Math.pow(levels.length, grid.width()));
        this.near = new short[combinations * LISTED];
        int[] digits = new int[grid.width()];
        long[] order = new long[grid.rows()];
        for (int combination = 0; combination < combinations; combination++) {
            int rest = combination;
            for (int i = 0; i < digits.length; i++) {
                digits[i] = levels[rest % levels.length];
                rest /= levels.length;
            }
            for (int row = 0; row < order.length; row++) {
                long distance = 0;
                for (int i = 0; i < digits.length; i++) {
                    int difference = digits[i] - grid.value(row, i);
                    distance += difference * difference;
                }
                order[row] = distance << 16 | row;
            }
            selectSmallest(order, combination * LISTED);
        }
    }

    private static int[] distinct(byte[] sorted) {
        int[] found = new int[16];
        int count = 0;
        for (byte value : sorted) {
            if (count == 0 || found[count - 1] != value) {
                found[count++] = value;
            }
        }
        return Arrays.copyOf(found, count);
    }

    private void selectSmallest(long[] order, int to) {
        for (int k = 0; k < LISTED; k++) {
            int smallest = k;
            for (int i = k + 1; i < order.length; i++) {
                if (order[i] < order[smallest]) {
                    smallest = i;
                }
            }
            long swapped = order[k];
            order[k] = order[smallest];
            order[smallest] = swapped;
            near[to + k] = (short) order[k];
        }
    }

    /** The search for a grid, made at first use. */
    static GridSearch of(Grid grid) {
        synchronized (Holder.BY_GRID) {
            GridSearch search = Holder.BY_GRID[grid.ordinal()];
            if (search == null) {
                search = new GridSearch(grid);
                Holder.BY_GRID[grid.ordinal()] = search;
            }
            return search;
        }
    }

    /** The row nearest to {@code magnitudes} at {@code scale} (value = scale x element). */
    int nearest(float[] magnitudes, int at, float scale) {
        float inverse = scale == 0 ? 0 : 1 / scale;
        int combination = 0;
        for (int i = grid.width() - 1; i >= 0; i--) {
            combination = combination * levels.length + level(magnitudes[at + i] * inverse);
        }
        int best = 0;
        float bestDistance = Float.POSITIVE_INFINITY;
        for (int k = 0; k < LISTED; k++) {
            int row = near[combination * LISTED + k];
            float distance = 0;
            for (int i = 0; i < grid.width(); i++) {
                float difference = magnitudes[at + i] * inverse - grid.value(row, i);
                distance += difference * difference;
            }
            if (distance < bestDistance) {
                bestDistance = distance;
                best = row;
            }
        }
        return best;
    }

    private int level(float x) {
        int best = 0;
        while (best + 1 < levels.length && 2 * x > levels[best] + levels[best + 1]) {
            best++;
        }
        return best;
    }

    int largest() {
        return levels[levels.length - 1];
    }
}
