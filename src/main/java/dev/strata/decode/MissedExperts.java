package dev.strata.decode;

import java.util.Arrays;
import java.util.function.IntPredicate;

/** The experts that a layer of a pass misses, and which of them the processor takes: a pure function of the router's choice and of costs. */
final class MissedExperts {
    /** Rows that share one reading of an expert's weights on the processor. */
    static final int ROWS_A_READING = 8;

    /** Rows of an expert that the processor takes at most: the card reads its weights once for all of them. */
    static final int MOST_ROWS = 4 * ROWS_A_READING;

    private final int[] rows;
    private final int[] missed;

    /** @param rows by expert: rows that chose it, 0 for experts that are not missed */
    MissedExperts(int[] rows) {
        this.rows = rows;
        int count = 0;
        int[] found = new int[rows.length];
        for (int expert = 0; expert < rows.length; expert++) {
            if (rows[expert] > 0) {
                found[count++] = expert;
            }
        }
        missed = Arrays.copyOf(found, count);
    }

    /** All of them, ascending. */
    int[] all() {
        return missed;
    }

    /**
     * Those for the processor: the ones with the fewest rows, as many as it is through with before the card is with the others. Ascending.
     *
     * @param card what an expert costs the card
     * @param processor what one reading of an expert costs the processor
     * @param reachable whether the processor finds an expert
     */
    int[] forProcessor(double card, double processor, IntPredicate reachable) {
        boolean[] taken = new boolean[rows.length];
        int count = 0;
        double busy = 0;
        for (int few = 1; few <= MOST_ROWS; few++) {
            double cost = processor * readings(few);
            for (int expert : missed) {
                if (rows[expert] != few || !reachable.test(expert)) {
                    continue;
                }
                if (busy + cost > card * (missed.length - count - 1)) {
                    return chosen(taken, count);
                }
                taken[expert] = true;
                count++;
                busy += cost;
            }
        }
        return chosen(taken, count);
    }

    /** Times that the processor reads weights for some of them. */
    int readings(int[] experts) {
        int all = 0;
        for (int expert : experts) {
            all += readings(rows[expert]);
        }
        return all;
    }

    private static int readings(int rows) {
        return Math.ceilDiv(rows, ROWS_A_READING);
    }

    private static int[] chosen(boolean[] taken, int count) {
        int[] chosen = new int[count];
        int next = 0;
        for (int expert = 0; next < count; expert++) {
            if (taken[expert]) {
                chosen[next++] = expert;
            }
        }
        return chosen;
    }

    /** All but {@code some} of them, both ascending. */
    int[] without(int[] some) {
        int[] left = new int[missed.length - some.length];
        int count = 0;
        int next = 0;
        for (int expert : missed) {
            if (next < some.length && some[next] == expert) {
                next++;
            } else {
                left[count++] = expert;
            }
        }
        return left;
    }
}
