package dev.strata.decode;

/**
 * A straight line through measured times, {@code nanos = constant + slope * experts}, by least squares in which a measurement's weight
 * halves about every {@value #HALF} newer ones. The line that it starts with counts as a few measurements.
 */
final class TimeFit {
    private static final int HALF = 512;
    private static final double KEEP = Math.pow(0.5, 1.0 / HALF);
    private static final double PRIOR = 8;

    private double weight;
    private double sumX;
    private double sumY;
    private double sumXx;
    private double sumXy;
    private double constant;
    private double slope;

    TimeFit(double constant, double slope) {
        this.constant = constant;
        this.slope = slope;
        for (int x = 1; x <= PRIOR; x++) {
            accumulate(x, constant + slope * x);
        }
    }

    void add(int experts, long nanos) {
        // A thread that lost its core for a while says nothing about the work.
        double expected = Math.max(20_000, nanos(experts));
        double capped = Math.min(nanos, 4 * expected);
        weight *= KEEP;
        sumX *= KEEP;
        sumY *= KEEP;
        sumXx *= KEEP;
        sumXy *= KEEP;
        accumulate(experts, capped);
        fit();
    }

    private void accumulate(double x, double y) {
        weight += 1;
        sumX += x;
        sumY += y;
        sumXx += x * x;
        sumXy += x * y;
    }

    private void fit() {
        double spread = weight * sumXx - sumX * sumX;
        if (spread > 1e-3 * weight * weight) {
            slope = Math.max(1, (weight * sumXy - sumX * sumY) / spread);
        }
        constant = Math.max(0, (sumY - slope * sumX) / weight);
        if (constant == 0) {
            slope = Math.max(1, sumXy / sumXx);
        }
    }

    double constant() {
        return constant;
    }

    double nanos(int experts) {
        return constant + slope * experts;
    }
}
