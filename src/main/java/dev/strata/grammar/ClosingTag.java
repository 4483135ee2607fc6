package dev.strata.grammar;

import dev.strata.tokenizer.Tokenizer;
import java.nio.charset.StandardCharsets;

/** Watches a text for {@code </think>}, which may be spelled out in several tokens. */
final class ClosingTag {
    private static final byte[] TAG = "</think>".getBytes(StandardCharsets.UTF_8);

    /** For each number of bytes of the tag that the text ends with, the tokens that complete it and go on behind it. */
    private final int[][] closers;

    ClosingTag(Tokenizer tokenizer) {
        IntLists lists = new IntLists();
        for (int matched = 0; matched < TAG.length; matched++) {
            lists.list();
        }
        byte last = TAG[TAG.length - 1];
        for (int token = 0; token < tokenizer.vocabularySize(); token++) {
            byte[] bytes = tokenizer.bytes(token);
            boolean holds = false;
            for (int index = 0; index < bytes.length - 1; index++) {
                holds |= bytes[index] == last;
            }
            for (int matched = 0; holds && matched < TAG.length; matched++) {
                int end = end(matched, bytes);
                if (end >= 0 && end < bytes.length) {
                    lists.add(matched, token);
                }
            }
        }
        closers = lists.lists();
    }

    /** Tokens that complete the tag and go on behind it, where the text ends with {@code matched} bytes of it. */
    int[] closers(int matched) {
        return closers[matched];
    }

    /** Where in the token the tag is complete; -1: it is not. */
    static int end(int matched, byte[] token) {
        int count = matched;
        for (int index = 0; index < token.length; index++) {
            count = next(count, token[index]);
            if (count == TAG.length) {
                return index + 1;
            }
        }
        return -1;
    }

    /** With how many bytes of the tag the text ends behind a token that does not complete it. */
    static int matched(int matched, byte[] token) {
        int count = matched;
        for (byte value : token) {
            count = next(count, value);
        }
        return count;
    }

    private static int next(int matched, byte value) {
        if (value == TAG[matched]) {
            return matched + 1;
        }
        return value == TAG[0] ? 1 : 0;
    }
}
