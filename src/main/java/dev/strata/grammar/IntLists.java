package dev.strata.grammar;

import java.util.Arrays;

/** Many short lists of numbers, most of them empty. */
final class IntLists {
    private static final int[] NOTHING = {};

    private int[][] values = new int[64][];
    private int[] sizes = new int[64];
    private int count;

    /** Adds an empty list; they are numbered from 0. */
    void list() {
        if (count == sizes.length) {
            values = Arrays.copyOf(values, 2 * count);
            sizes = Arrays.copyOf(sizes, 2 * count);
        }
        values[count++] = NOTHING;
    }

    int count() {
        return count;
    }

    void add(int list, int value) {
        int size = sizes[list];
        if (size == values[list].length) {
            values[list] = Arrays.copyOf(values[list], Math.max(3, 2 * size));
        }
        values[list][size] = value;
        sizes[list]++;
    }

    void add(int list, int first, int second) {
        add(list, first);
        add(list, second);
    }

    void add(int list, int first, int second, int third) {
        add(list, first, second);
        add(list, third);
    }

    /** The lists as they are now. */
    int[][] lists() {
        int[][] lists = new int[count][];
        for (int list = 0; list < count; list++) {
            lists[list] = sizes[list] == 0 ? NOTHING : Arrays.copyOf(values[list], sizes[list]);
        }
        return lists;
    }
}
