package dev.strata.sampling;

import java.util.Arrays;

/** How often each token occurs: a small open-addressed table, so that penalties touch only the tokens that are there. */
final class TokenCounts {
    private static final int EMPTY = -1;

    private int[] ids = new int[64];
    private int[] counts = new int[64];
    private int used;

    TokenCounts() {
        Arrays.fill(ids, EMPTY);
    }

    void add(int token) {
        int at = find(token);
        if (ids[at] == EMPTY) {
            if (used * 2 >= ids.length) {
                grow();
                at = find(token);
            }
            ids[at] = token;
            used++;
        }
        counts[at]++;
    }

    /** Takes one occurrence away; the token's place stays taken so that chains of collisions keep together. */
    void remove(int token) {
        int at = find(token);
        if (ids[at] == EMPTY || counts[at] == 0) {
            throw new IllegalStateException("token " + token + " is not counted");
        }
        counts[at]--;
    }

    /** Places of the table, for walking over it with {@link #idAt} and {@link #countAt}. */
    int places() {
        return ids.length;
    }

    int idAt(int place) {
        return ids[place];
    }

    int countAt(int place) {
        return counts[place];
    }

    private int find(int token) {
        int mask = ids.length - 1;
        int at = (token * 0x9E3779B9 >>> 7) & mask;
        while (ids[at] != EMPTY && ids[at] != token) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private void grow() {
        int[] oldIds = ids;
        int[] oldCounts = counts;
        ids = new int[oldIds.length * 2];
        counts = new int[ids.length];
        Arrays.fill(ids, EMPTY);
        used = 0;
        for (int i = 0; i < oldIds.length; i++) {
            if (oldIds[i] != EMPTY && oldCounts[i] > 0) {
                int at = find(oldIds[i]);
                ids[at] = oldIds[i];
                counts[at] = oldCounts[i];
                used++;
            }
        }
    }
}
