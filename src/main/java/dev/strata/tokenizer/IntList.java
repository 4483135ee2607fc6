package dev.strata.tokenizer;

import java.util.Arrays;

/** A growing array of ints. */
final class IntList {
    private int[] values;
    private int size;

    IntList(int capacity) {
        values = new int[Math.max(4, capacity)];
    }

    int size() {
        return size;
    }

    int get(int index) {
        return values[java.util.Objects.checkIndex(index, size)];
    }

    void add(int value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, size * 2);
        }
        values[size++] = value;
    }

    void addAll(int[] more) {
        if (size + more.length > values.length) {
            values = Arrays.copyOf(values, Math.max(size * 2, size + more.length));
        }
        System.arraycopy(more, 0, values, size, more.length);
        size += more.length;
    }

    int[] toArray() {
        return Arrays.copyOf(values, size);
    }

    int[] toArray(int from) {
        return Arrays.copyOfRange(values, from, size);
    }
}
