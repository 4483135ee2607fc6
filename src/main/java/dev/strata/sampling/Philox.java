package dev.strata.sampling;

/**
 * Counter-based random numbers: Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * 2011). A number depends on the seed and the position alone, so a text does not depend on what else runs beside it.
 */
public final class Philox {
    private static final long MULTIPLIER_0 = 0xD2511F53L;
    private static final long MULTIPLIER_1 = 0xCD9E8D57L;
    private static final int WEYL_0 = 0x9E3779B9;
    private static final int WEYL_1 = 0xBB67AE85;
    private static final int ROUNDS = 10;

    private Philox() {}

    /** A number in [0, 1) with 53 random bits, for the {@code draw}-th use at {@code position} of the text with {@code seed}. */
    public static double uniform(long seed, long position, int draw) {
        long bits = first64((int) position, (int) (position >>> 32), draw, 0, (int) seed, (int) (seed >>> 32));
        return (bits >>> 11) * 0x1p-53;
    }

    /** The first two of the block's four words, for a counter of four words and a key of two. */
    static long first64(int counter0, int counter1, int counter2, int counter3, int key0, int key1) {
        int c0 = counter0;
        int c1 = counter1;
        int c2 = counter2;
        int c3 = counter3;
        int k0 = key0;
        int k1 = key1;
        for (int round = 0; round < ROUNDS; round++) {
            long product0 = MULTIPLIER_0 * (c0 & 0xFFFFFFFFL);
            long product1 = MULTIPLIER_1 * (c2 & 0xFFFFFFFFL);
            int next0 = (int) (product1 >>> 32) ^ c1 ^ k0;
            int next2 = (int) (product0 >>> 32) ^ c3 ^ k1;
            c1 = (int) product1;
            c3 = (int) product0;
            c0 = next0;
            c2 = next2;
            k0 += WEYL_0;
            k1 += WEYL_1;
        }
        return (c0 & 0xFFFFFFFFL) << 32 | (c1 & 0xFFFFFFFFL);
    }
}
