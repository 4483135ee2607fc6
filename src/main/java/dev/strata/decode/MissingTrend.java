package dev.strata.decode;

/**
 * Whether steps miss so many experts that the processor's help pays. It does where most layers miss some: a meeting costs tens of microseconds,
 * and processor and link read the same RAM, so that few misses come faster over the link alone.
 */
final class MissingTrend {
    private static final double KEEP = 0.97;
    private static final double MANY = 1.2;
    private static final double FEW = 1;

    private double mean;
    private boolean many;

    /** A step missed so many experts of a layer, the mean over its layers. */
    void missed(double experts) {
        mean = KEEP * mean + (1 - KEEP) * experts;
        many = mean > (many ? FEW : MANY);
    }

    boolean many() {
        return many;
    }
}
