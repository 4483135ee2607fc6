package dev.strata.grammar;

import java.util.Arrays;

/** Sets of tokens by how many characters they have: small numbers as bits, large ones, which few tokens have, in a list. */
final class CountedTokens {
    private static final int DENSE = 24;
    private static final int NO_COUNT = -1;

    private final long[][] upTo = new long[DENSE + 1][];
    private final long[] all;
    private final int[] rare;
    private final int[] rareCounts;
    private final int longest;

    /** @param counts of each token, negative: not in any of the sets */
    CountedTokens(int[] counts) {
        int words = (counts.length + 63) / 64;
        for (int count = 0; count <= DENSE; count++) {
            upTo[count] = new long[words];
        }
        int most = 0;
        int rareTokens = 0;
        for (int token = 0; token < counts.length; token++) {
            most = Math.max(most, counts[token]);
            if (counts[token] > DENSE) {
                rareTokens++;
            } else if (counts[token] > NO_COUNT) {
                upTo[counts[token]][token >> 6] |= 1L << token;
            }
        }
        longest = most;
        for (int count = 1; count <= DENSE; count++) {
            for (int word = 0; word < words; word++) {
                upTo[count][word] |= upTo[count - 1][word];
            }
        }
        rare = new int[rareTokens];
        rareCounts = new int[rareTokens];
        all = upTo[DENSE].clone();
        int at = 0;
        for (int token = 0; token < counts.length; token++) {
            if (counts[token] > DENSE) {
                rare[at] = token;
                rareCounts[at++] = counts[token];
                all[token >> 6] |= 1L << token;
            }
        }
    }

    /** The largest count of a token. */
    int longest() {
        return longest;
    }

    /** All tokens of the sets; not to be changed. */
    long[] all() {
        return all;
    }

    /** Adds those of {@code others} with counts from {@code least} to {@code most}. */
    void addCommon(long[] mask, long[] others, int least, int most) {
        if (least <= DENSE) {
            long[] bits = most >= longest ? all : upTo[Math.min(most, DENSE)];
            if (least == 0) {
                for (int word = 0; word < mask.length; word++) {
                    mask[word] |= others[word] & bits[word];
                }
            } else {
                long[] less = upTo[least - 1];
                for (int word = 0; word < mask.length; word++) {
                    mask[word] |= others[word] & bits[word] & ~less[word];
                }
            }
            if (most >= longest) {
                return;
            }
        }
        if (most > DENSE) {
            for (int index = 0; index < rare.length; index++) {
                int token = rare[index];
                if (rareCounts[index] >= least
                        && rareCounts[index] <= most
                        && (others[token >> 6] >>> token & 1) != 0) {
                    mask[token >> 6] |= 1L << token;
                }
            }
        }
    }

    /** A list of counts for {@code tokens} tokens, none of them in any set. */
    static int[] none(int tokens) {
        int[] counts = new int[tokens];
        Arrays.fill(counts, NO_COUNT);
        return counts;
    }
}
