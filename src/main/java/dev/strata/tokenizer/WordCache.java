package dev.strata.tokenizer;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Ids of pieces seen lately. A fixed number of places; a new piece takes the place of the one that was there. Entries are immutable, so
 * that threads may race for a place without harm.
 */
final class WordCache {
    private static final int PLACES = 1 << 15;
    /** Longer pieces are rare and would make the cache large. */
    private static final int LONGEST = 24;

    private record Word(char[] text, int[] ids) {}

    private final @Nullable Word[] words = new Word[PLACES];

    int @Nullable [] find(char[] text, int from, int to) {
        if (to - from > LONGEST) {
            return null;
        }
        Word word = words[place(text, from, to)];
        return word != null && Arrays.equals(word.text, 0, word.text.length, text, from, to) ? word.ids : null;
    }

    void put(char[] text, int from, int to, int[] ids) {
        if (to - from <= LONGEST) {
            words[place(text, from, to)] = new Word(Arrays.copyOfRange(text, from, to), ids);
        }
    }

    private static int place(char[] text, int from, int to) {
        int hash = to - from;
        for (int index = from; index < to; index++) {
            hash = hash * 31 + text[index];
        }
        hash *= 0x9E3779B9;
        return hash >>> 17;
    }
}
