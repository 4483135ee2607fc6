package dev.strata.grammar;

import java.util.ArrayList;
import java.util.List;

/** Ranges of code points as sequences of ranges of UTF-8 bytes. */
final class Utf8Bytes {
    /** Characters that a JSON string holds as they are: everything but the quote, the backslash and control characters. */
    static final CodePointSet PLAIN = new CodePointSet(0x20, 0x21, 0x23, 0x5B, 0x5D, 0xD7FF, 0xE000, CodePointSet.LAST);

    private static final int[] LAST_OF_LENGTH = {0x7F, 0x7FF, 0xFFFF, CodePointSet.LAST};

    private Utf8Bytes() {}

    /** For each sequence: first and last value of each of its bytes in turn. Surrogates are left out. */
    static List<int[]> sequences(CodePointSet set) {
        List<int[]> sequences = new ArrayList<>();
        CodePointSet characters = set.minus(CodePointSet.range(0xD800, 0xDFFF));
        for (int range = 0; range < characters.ranges(); range++) {
            int low = characters.first(range);
            for (int length = 0; length < 4; length++) {
                int high = Math.min(characters.last(range), LAST_OF_LENGTH[length]);
                if (low <= high) {
                    split(encode(low), encode(high), 0, new int[0], sequences);
                    low = high + 1;
                }
            }
        }
        return sequences;
    }

    /** Sequences between two encodings of one length that agree up to {@code at}. */
    private static void split(int[] low, int[] high, int at, int[] prefix, List<int[]> sequences) {
        if (at == low.length - 1) {
            sequences.add(append(prefix, low[at], high[at]));
            return;
        }
        if (low[at] == high[at]) {
            split(low, high, at + 1, append(prefix, low[at], low[at]), sequences);
            return;
        }
        int first = low[at];
        int last = high[at];
        if (!allFrom(low, at + 1, 0x80)) {
            split(low, filled(low, at + 1, 0xBF), at + 1, append(prefix, first, first), sequences);
            first++;
        }
        boolean partEnd = !allFrom(high, at + 1, 0xBF);
        if (partEnd) {
            last--;
        }
        if (first <= last) {
            int[] sequence = append(prefix, first, last);
            for (int rest = at + 1; rest < low.length; rest++) {
                sequence = append(sequence, 0x80, 0xBF);
            }
            sequences.add(sequence);
        }
        if (partEnd) {
            split(filled(high, at + 1, 0x80), high, at + 1, append(prefix, high[at], high[at]), sequences);
        }
    }

    private static boolean allFrom(int[] bytes, int from, int value) {
        for (int index = from; index < bytes.length; index++) {
            if (bytes[index] != value) {
                return false;
            }
        }
        return true;
    }

    private static int[] filled(int[] bytes, int from, int value) {
        int[] copy = bytes.clone();
        java.util.Arrays.fill(copy, from, copy.length, value);
        return copy;
    }

    private static int[] append(int[] sequence, int first, int last) {
        int[] longer = java.util.Arrays.copyOf(sequence, sequence.length + 2);
        longer[sequence.length] = first;
        longer[sequence.length + 1] = last;
        return longer;
    }

    private static int[] encode(int codePoint) {
        if (codePoint < 0x80) {
            return new int[] {codePoint};
        }
        if (codePoint < 0x800) {
            return new int[] {0xC0 | codePoint >> 6, 0x80 | codePoint & 0x3F};
        }
        if (codePoint < 0x10000) {
            return new int[] {0xE0 | codePoint >> 12, 0x80 | codePoint >> 6 & 0x3F, 0x80 | codePoint & 0x3F};
        }
        return new int[] {
            0xF0 | codePoint >> 18, 0x80 | codePoint >> 12 & 0x3F, 0x80 | codePoint >> 6 & 0x3F, 0x80 | codePoint & 0x3F
        };
    }
}
