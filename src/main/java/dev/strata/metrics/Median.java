package dev.strata.metrics;

import java.util.Arrays;
import java.util.Collection;

/** The middle of some measurements, the mean of the two in the middle where their number is even. */
public final class Median {
    private Median() {}

    /** The median of {@code values}, 0 of none. */
    public static double of(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        if (sorted.length == 0) {
            return 0;
        }
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** The same of numbers in a collection. */
    public static double of(Collection<Double> values) {
        return of(values.stream().mapToDouble(Double::doubleValue).toArray());
    }
}
