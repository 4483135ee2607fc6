package dev.strata.synth;

/** Random numbers from a counter: the finaliser of splitmix64. */
final class Mix {
    private Mix() {}

    static long hash(long seed, long counter) {
        long x = seed + (counter + 1) * 0x9E3779B97F4A7C15L;
        x = (x ^ x >>> 30) * 0xBF58476D1CE4E5B9L;
        x = (x ^ x >>> 27) * 0x94D049BB133111EBL;
        return x ^ x >>> 31;
    }

    /** From 0 to 1, exclusively. */
    static double uniform(long seed, long counter) {
        return ((hash(seed, counter) >>> 11) + 0.5) * 0x1p-53;
    }

    /** Normally distributed with mean 0 and deviation 1. */
    static double normal(long seed, long counter) {
        double radius = Math.sqrt(-2 * Math.log(uniform(seed, 2 * counter)));
        return radius * Math.cos(2 * Math.PI * uniform(seed, 2 * counter + 1));
    }
}
