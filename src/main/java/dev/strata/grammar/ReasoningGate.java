package dev.strata.grammar;

import dev.strata.sampling.TokenConstraint;
import java.util.Arrays;

/**
 * Lets the model reason freely before a constraint begins: from an open {@code <think>} block, or one that the model opens as its first
 * words, to {@code </think>}. The block may not end the answer.
 */
final class ReasoningGate implements TokenConstraint {
    private enum Place {
        BEFORE,
        INSIDE,
        BEHIND
    }

    private final GrammarVocabulary vocabulary;
    private final GrammarConstraint inner;
    private final int openToken;
    private final long[] everything;
    private final long[] before;
    private Place place;
    /** Bytes of the closing tag that the text ends with. */
    private int matched;

    private ReasoningGate(
            GrammarVocabulary vocabulary,
            GrammarConstraint inner,
            int openToken,
            long[] everything,
            long[] before,
            Place place,
            int matched) {
        this.vocabulary = vocabulary;
        this.inner = inner;
        this.openToken = openToken;
        this.everything = everything;
        this.before = before;
        this.place = place;
        this.matched = matched;
    }

    /**
     * @param inside whether the prompt opened the block
     * @return {@code inner} itself when the model has no token that opens a block and none is open
     */
    static TokenConstraint of(GrammarVocabulary vocabulary, GrammarConstraint inner, boolean inside) {
        int open = vocabulary.tokenizer().id("<think>").orElse(-1);
        if (open < 0 && !inside) {
            return inner;
        }
        long[] before = inner.allowed().clone();
        if (open >= 0) {
            before[open >> 6] |= 1L << open;
        }
        return new ReasoningGate(
                vocabulary,
                inner,
                open,
                vocabulary.everythingButEnd(),
                before,
                inside ? Place.INSIDE : Place.BEFORE,
                0);
    }

    @Override
    public long[] allowed() {
        return switch (place) {
            case BEFORE -> before;
            case INSIDE -> inside();
            case BEHIND -> inner.allowed();
        };
    }

    @Override
    public void accept(int token) {
        switch (place) {
            case BEFORE -> {
                place = token == openToken ? Place.INSIDE : Place.BEHIND;
                if (place == Place.BEHIND) {
                    inner.accept(token);
                }
            }
            case INSIDE -> inside(token);
            case BEHIND -> inner.accept(token);
        }
    }

    /** The tag may be spelled out in several tokens. What a token holds behind it is the beginning of the answer. */
    private void inside(int token) {
        if (vocabulary.isEnd(token)) {
            throw new IllegalArgumentException("the reasoning block is still open");
        }
        byte[] bytes = vocabulary.tokenizer().bytes(token);
        int end = ClosingTag.end(matched, bytes);
        if (end < 0) {
            matched = ClosingTag.matched(matched, bytes);
            return;
        }
        if (end < bytes.length) {
            inner.take(Arrays.copyOfRange(bytes, end, bytes.length));
        }
        place = Place.BEHIND;
        matched = 0;
    }

    /** Everything but tokens that close the block and go on with what the answer may not begin with. */
    private long[] inside() {
        long[] mask = everything;
        for (int token : vocabulary.closingTag().closers(matched)) {
            byte[] bytes = vocabulary.tokenizer().bytes(token);
            if (!inner.reads(Arrays.copyOfRange(bytes, ClosingTag.end(matched, bytes), bytes.length))) {
                mask = mask == everything ? everything.clone() : mask;
                mask[token >> 6] &= ~(1L << token);
            }
        }
        return mask;
    }

    @Override
    public boolean finished() {
        return place == Place.BEHIND && inner.finished();
    }

    @Override
    public TokenConstraint fork() {
        return new ReasoningGate(vocabulary, inner.fork(), openToken, everything, before, place, matched);
    }
}
