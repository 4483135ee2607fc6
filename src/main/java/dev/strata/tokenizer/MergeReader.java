package dev.strata.tokenizer;

import dev.strata.format.ModelFormatException;

/** Collects merges written as token texts and checks them against the vocabulary. */
final class MergeReader {
    private final TokenTable vocabulary;
    private final String source;
    private final IntList merges = new IntList(1024);
    private byte[] buffer = new byte[256];

    MergeReader(TokenTable vocabulary, String source) {
        this.vocabulary = vocabulary;
        this.source = source;
    }

    /** A merge as "left right". */
    void add(String line) {
        int space = line.indexOf(' ', 1);
        if (space < 0) {
            throw wrong(line, "has no space between its two tokens");
        }
        add(line.substring(0, space), line.substring(space + 1));
    }

    void add(String left, String right) {
        int leftId = find(left, left, right);
        merges.add(leftId);
        merges.add(find(right, left, right));
    }

    IntList merges() {
        return merges;
    }

    private int find(String token, String left, String right) {
        if (token.length() > buffer.length) {
            buffer = new byte[token.length() * 2];
        }
        int length = ByteLevel.decode(token, buffer);
        int id = length < 0 ? -1 : vocabulary.find(buffer, 0, length);
        if (id < 0) {
            throw wrong(left + " " + right, "names \"" + token + "\", which is not in the vocabulary");
        }
        return id;
    }

    private ModelFormatException wrong(String merge, String what) {
        return new ModelFormatException(source + ": merge " + merges.size() / 2 + " (\"" + merge + "\") " + what + ".");
    }
}
