package dev.strata.decode;

import java.util.Arrays;

/**
 * Guesses that a text goes on as it did before: finds the latest earlier place where its last tokens stood and proposes what followed
 * there. Every run of {@code length} tokens is remembered by its hash, so a proposal costs one look-up. Used by one thread.
 */
public final class PromptLookup {
    private static final int EMPTY = 0;

    private final int length;
    /** Open-addressed: hash to one more than the position behind its latest run. */
    private int[] ends = new int[1024];

    private int[] hashes = new int[1024];
    private int used;
    private int indexed;

    /** @param length tokens that have to agree, at least 1 */
    public PromptLookup(int length) {
        if (length < 1) {
            throw new IllegalArgumentException("a look-up needs at least one token, not " + length);
        }
        this.length = length;
        indexed = length - 1;
    }

    /**
     * Proposes {@code most} tokens, or none, behind the first {@code end} tokens of {@code text}. Texts given to one instance only grow.
     *
     * @return how many tokens were written to {@code drafts}
     */
    public int propose(int[] text, int end, int most, int[] drafts) {
        if (end < length) {
            return 0;
        }
        // The run at the end itself is left out, else it would find itself.
        while (indexed < end - 1) {
            indexed++;
            put(hash(text, indexed), indexed);
        }
        int behind = find(hash(text, end));
        if (behind == EMPTY || !sameRun(text, behind, end)) {
            return 0;
        }
        for (int i = 0; i < most; i++) {
            // Past the end the text is taken to repeat itself.
            drafts[i] = behind + i < end ? text[behind + i] : drafts[behind + i - end];
        }
        return most;
    }

    private boolean sameRun(int[] text, int behind, int end) {
        return Arrays.equals(text, behind - length, behind, text, end - length, end);
    }

    private int hash(int[] text, int end) {
        int hash = 1;
        for (int i = end - length; i < end; i++) {
            hash = 31 * hash + text[i];
        }
        return hash * 0x9E3779B9;
    }

    private int place(int hash) {
        int mask = ends.length - 1;
        int at = (hash >>> 8) & mask;
        while (ends[at] != EMPTY && hashes[at] != hash) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private int find(int hash) {
        return ends[place(hash)];
    }

    private void put(int hash, int end) {
        int at = place(hash);
        if (ends[at] == EMPTY && ++used * 2 > ends.length) {
            grow();
            at = place(hash);
        }
        hashes[at] = hash;
        ends[at] = end;
    }

    private void grow() {
        int[] oldEnds = ends;
        int[] oldHashes = hashes;
        ends = new int[oldEnds.length * 2];
        hashes = new int[ends.length];
        for (int i = 0; i < oldEnds.length; i++) {
            if (oldEnds[i] != EMPTY) {
                int at = place(oldHashes[i]);
                hashes[at] = oldHashes[i];
                ends[at] = oldEnds[i];
            }
        }
    }
}
