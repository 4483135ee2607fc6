package dev.strata.engine;

import java.util.Arrays;

/** Hands out the key-value pages of a model and counts who holds each: sequences and the prefix cache share pages. Used by one thread. */
final class PageAllocator {
    private final int[] holders;
    private final int[] free;
    private int freeCount;

    PageAllocator(int pages) {
        holders = new int[pages];
        free = new int[pages];
        for (int i = 0; i < pages; i++) {
            free[i] = pages - 1 - i;
        }
        freeCount = pages;
    }

    /** A page with one holder, or -1 when all are held. */
    int take() {
        if (freeCount == 0) {
            return -1;
        }
        int page = free[--freeCount];
        holders[page] = 1;
        return page;
    }

    void retain(int page) {
        if (holders[page] == 0) {
            throw new IllegalStateException("page " + page + " is free");
        }
        holders[page]++;
    }

    void release(int page) {
        if (holders[page] == 0) {
            throw new IllegalStateException("page " + page + " is free already");
        }
        if (--holders[page] == 0) {
            free[freeCount++] = page;
        }
    }

    int holders(int page) {
        return holders[page];
    }

    int free() {
        return freeCount;
    }

    int total() {
        return holders.length;
    }

    /** All counts added up, to see in tests that nothing is left behind. */
    int heldInAll() {
        return Arrays.stream(holders).sum();
    }
}
