package dev.strata.format.convert;

import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;

/**
 * Order of value heads. Grouped, value head h reads key head h div r; tiled, stored head j = s*K + g is head g*r + s and reads key head
 * j mod K.
 */
record HeadOrder(int keyHeads, int valueHeads, boolean tiled) {
    /** The grouped head that stands at stored position {@code head}. */
    int source(int head) {
        int repeats = valueHeads / keyHeads;
        return tiled ? head % keyHeads * repeats + head / keyHeads : head;
    }

    /** Rows of matrices whose value heads of {@code width} rows begin after {@code before} others that stay. */
    LongUnaryOperator rowsAfter(long before, int width) {
        return row -> {
            if (row < before) {
                return row;
            }
            long value = row - before;
            return before + source((int) (value / width)) * (long) width + value % width;
        };
    }

    /** Columns of a matrix that reads the value heads. */
    IntUnaryOperator columns(int width) {
        return column -> source(column / width) * width + column % width;
    }
}
