package dev.strata.model.ngram;

import java.util.List;

/**
 * Table rows of a token from its n-grams, in exact 64-bit integers. The mix of an n-gram is the exclusive or of token times multiplier
 * over its tokens, newest first; head h reads row {@code mix mod size[h] + offset[h]}.
 */
public final class NgramHash {
    private final long[] multipliers;
    private final long[] offsets;
    private final long[] sizes;
    private final int headsPerSize;
    private final int endToken;

    /**
     * @param multipliers one a token of the longest n-gram
     * @param offsets first row of every head; heads of the shortest n-grams (2 tokens) come first
     * @param sizes number of rows of every head
     * @param endToken cuts the context: it and everything before it counts as {@code endToken}
     */
    public NgramHash(List<Long> multipliers, List<Long> offsets, List<Long> sizes, int headsPerSize, int endToken) {
        this.multipliers = multipliers.stream().mapToLong(Long::longValue).toArray();
        this.offsets = offsets.stream().mapToLong(Long::longValue).toArray();
        this.sizes = sizes.stream().mapToLong(Long::longValue).toArray();
        this.headsPerSize = headsPerSize;
        this.endToken = endToken;
    }

    public int heads() {
        return offsets.length;
    }

    /** Tokens before its own that a token's rows depend on. */
    public int historyTokens() {
        return multipliers.length - 1;
    }

    /**
     * Writes the rows of the token at {@code position} of {@code tokens} to {@code rows} from {@code at} on. Tokens before the start of
     * the array count as missing.
     */
    public void rows(int[] tokens, int position, long[] rows, int at) {
        long mix = tokens[position] * multipliers[0];
        boolean cut = false;
        int head = 0;
        for (int back = 1; back < multipliers.length; back++) {
            int index = position - back;
            cut = cut || index < 0 || tokens[index] == endToken;
            mix ^= (cut ? endToken : tokens[index]) * multipliers[back];
            for (int i = 0; i < headsPerSize; i++, head++) {
                rows[at + head] = Math.floorMod(mix, sizes[head]) + offsets[head];
            }
        }
    }
}
