package dev.strata.grammar;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The vocabulary as masks of states inside JSON strings are made from it: tokens that stay inside such a string, and tokens that close it, by how many of its
 * characters they hold; of the latter, what follows the quote.
 */
final class StringTokens {
    private static final int KEPT_LETTERS = 64;

    private final int words;
    private final TokenTrie behindQuote;
    private final CountedTokens inside;
    private final CountedTokens closing;
    /** Tokens with a quote as their last byte that close a string. */
    private final long[] quoteLast;
    /** For each class of {@link Characters} the tokens without any of it. */
    private final long[][] without;
    /** Tokens that close a string or hold a backslash, and so need a look at the characters in front of the quote. */
    private final List<Special> specials;

    private final Map<LetterClasses, Allowed> allowed = new LinkedHashMap<>(KEPT_LETTERS, 0.75f, true);

    private record Special(int token, boolean closes, LetterClasses contents) {}

    /**
     * What may stand in a string of some letters, however many there are.
     *
     * @param inside tokens that stay inside
     * @param closing tokens that close it
     */
    private record Allowed(long[] inside, long[] closing) {}

    /** Takes in the tokens one by one. */
    static final class Builder {
        private final int[] insideCounts;
        private final int[] closingCounts;
        private final long[] quoteLast;
        private final List<TokenTrie.Entry> quotes = new ArrayList<>();
        private final List<Special> specials = new ArrayList<>();

        /** @param size of the vocabulary */
        Builder(int size) {
            insideCounts = CountedTokens.none(size);
            closingCounts = CountedTokens.none(size);
            quoteLast = new long[(size + 63) / 64];
        }

        void add(int token, byte[] bytes) {
            StringInterior interior = StringInterior.of(bytes);
            if (!interior.isPossible()) {
                return;
            }
            boolean closes = interior.quote() >= 0;
            (closes ? closingCounts : insideCounts)[token] = interior.characters();
            int end = closes ? interior.quote() : bytes.length;
            if (closes || StringInterior.hasEscape(bytes)) {
                specials.add(new Special(token, closes, StringInterior.contents(bytes, end)));
            }
            if (interior.quote() == bytes.length - 1) {
                quoteLast[token >> 6] |= 1L << token;
            } else if (closes) {
                quotes.add(new TokenTrie.Entry(Arrays.copyOfRange(bytes, interior.quote() + 1, bytes.length), token));
            }
        }

        /** @param without for each class of {@link Characters} the tokens without any of it */
        StringTokens build(long[][] without) {
            return new StringTokens(this, without);
        }
    }

    private StringTokens(Builder builder, long[][] without) {
        this.without = without;
        words = builder.quoteLast.length;
        quoteLast = builder.quoteLast;
        behindQuote = new TokenTrie(builder.quotes);
        inside = new CountedTokens(builder.insideCounts);
        closing = new CountedTokens(builder.closingCounts);
        specials = builder.specials;
        allowed.put(LetterClasses.ANYTHING, new Allowed(inside.all(), closing.all()));
    }

    /**
     * The mask inside a string: the tokens that stay inside and have no more characters than may follow, and those that close it after a number of characters
     * behind which it may be closed.
     *
     * @return null when the state is not of this kind
     */
    long @Nullable [] mask(GrammarMachine machine, GrammarMachine.State start) {
        LetterStep step = machine.letterStep(start);
        if (step == null) {
            return null;
        }
        LetterClasses letter = step.letter();
        int most = Math.max(inside.longest(), closing.longest());
        GrammarMachine.State state = start;
        GrammarMachine.State first = machine.step(start, '"');
        int room = 0;
        boolean alike = true;
        while (room < most) {
            GrammarMachine.State next = behind(machine, state, letter);
            if (next == null) {
                break;
            }
            if (next == state) {
                room = Integer.MAX_VALUE;
                break;
            }
            room++;
            state = next;
            alike &= machine.step(state, '"') == first;
        }
        if (room < most && !state.readsQuoteOnly()) {
            return null;
        }
        Allowed tokens = allowed(letter);
        if (alike && room >= most) {
            return whole(machine, first, letter, tokens);
        }
        long[] mask = new long[words];
        inside.addCommon(mask, tokens.inside(), 0, room);
        close(machine, start, letter, tokens, Math.min(room, most), mask);
        return mask;
    }

    private static GrammarMachine.@Nullable State behind(
            GrammarMachine machine, GrammarMachine.State state, LetterClasses letter) {
        LetterStep step = machine.letterStep(state);
        return step == null || !step.letter().equals(letter) ? null : step.target();
    }

    /** The mask of a string that goes on and ends in one way whatever its length. */
    private long[] whole(GrammarMachine machine, GrammarMachine.State behind, LetterClasses letter, Allowed tokens) {
        boolean any = letter.equals(LetterClasses.ANYTHING);
        long[] known = any ? behind.masks().before : null;
        if (known == null) {
            known = tokens.inside().clone();
            closing.addCommon(known, exits(machine, behind, tokens), 0, closing.longest());
            if (any) {
                behind.masks().before = known;
            }
        }
        return known;
    }

    /** Adds the tokens that close the string behind up to {@code room} characters. */
    private void close(
            GrammarMachine machine,
            GrammarMachine.State start,
            LetterClasses letter,
            Allowed tokens,
            int room,
            long[] mask) {
        GrammarMachine.State state = start;
        int from = 0;
        for (int count = 0; count <= room; count++) {
            GrammarMachine.State next = count < room ? behind(machine, state, letter) : null;
            GrammarMachine.State behind = machine.step(state, '"');
            if (next == null || machine.step(next, '"') != behind) {
                if (!behind.isDead()) {
                    closing.addCommon(mask, exits(machine, behind, tokens), from, count);
                }
                from = count + 1;
            }
            state = next == null ? state : next;
        }
    }

    /** Tokens that close a string, given the state behind its quote. */
    private long[] exits(GrammarMachine machine, GrammarMachine.State behind, Allowed tokens) {
        GrammarMachine.QuoteMasks masks = behind.masks();
        long[] all = masks.exits;
        if (all == null) {
            all = new long[words];
            if (!behind.isDead()) {
                System.arraycopy(quoteLast, 0, all, 0, words);
                behindQuote.collect(machine, behind, Roaming.NONE, Roaming.NONE, all);
            }
            masks.exits = all;
        }
        if (tokens.closing() == closing.all()) {
            return all;
        }
        long[] some = new long[words];
        for (int word = 0; word < words; word++) {
            some[word] = all[word] & tokens.closing()[word];
        }
        return some;
    }

    private Allowed allowed(LetterClasses letter) {
        synchronized (allowed) {
            Allowed known = allowed.get(letter);
            if (known == null) {
                known = find(letter);
                allowed.put(letter, known);
                if (allowed.size() > KEPT_LETTERS) {
                    allowed.remove(allowed.keySet().iterator().next());
                }
            }
            return known;
        }
    }

    private Allowed find(LetterClasses letter) {
        long[] stay = inside.all().clone();
        ClassSet missing = letter.missing().with('\\');
        for (int kind = 0; kind < Characters.CLASSES; kind++) {
            if (missing.contains(kind)) {
                for (int word = 0; word < words; word++) {
                    stay[word] &= without[kind][word];
                }
            }
        }
        long[] close = new long[words];
        for (Special special : specials) {
            if (letter.covers(special.contents())) {
                (special.closes() ? close : stay)[special.token() >> 6] |= 1L << special.token();
            }
        }
        return new Allowed(stay, close);
    }
}
