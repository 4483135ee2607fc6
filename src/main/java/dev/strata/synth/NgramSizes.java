package dev.strata.synth;

import java.util.ArrayList;
import java.util.List;

/**
 * The hash constants of an n-gram table: prime sizes of the heads from a base on, where each begins, and odd multipliers small enough
 * that a token times one fits into 63 bits.
 */
record NgramSizes(List<Long> sizes, List<Long> offsets, List<Long> multipliers, long rows) {
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    static NgramSizes of(int heads, long base, int ngram, long vocabulary, long multiple) {
        List<Long> sizes = new ArrayList<>();
        List<Long> offsets = new ArrayList<>();
        long total = 0;
        for (long candidate = base; sizes.size() < heads; candidate++) {
            if (isPrime(candidate)) {
                sizes.add(candidate);
                offsets.add(total);
                total += candidate;
            }
        }
        long half = Long.MAX_VALUE / vocabulary / 2;
        List<Long> multipliers = new ArrayList<>();
        for (int i = 0; i < ngram; i++) {
            multipliers.add(2 * Long.remainderUnsigned(Mix.hash(1234 + GAMMA * i, 0), half) + 1);
        }
        return new NgramSizes(sizes, offsets, multipliers, (total + multiple - 1) / multiple * multiple);
    }

    private static boolean isPrime(long number) {
        if (number < 4) {
            return number > 1;
        }
        for (long divisor = 2; divisor * divisor <= number; divisor++) {
            if (number % divisor == 0) {
                return false;
            }
        }
        return true;
    }
}
