package dev.strata.grammar;

import dev.strata.tokenizer.Tokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The vocabulary as masks are made from it. Inside JSON strings nearly every token is allowed, so what happens there is prepared:
 *
 * <ul>
 *   <li>tokens of plain characters only, by their number of characters;
 *   <li>tokens that stay inside a string of any characters (plain ones, escapes, parts of characters);
 *   <li>of tokens that close the string, what follows the quote;
 *   <li>of all tokens with other than plain characters, what follows their plain beginning, for strings with rules of their own.
 * </ul>
 */
public final class GrammarVocabulary {
    /** Tokens with more plain characters count as having so many. */
    private static final int LONGEST_PLAIN = 64;
    /** In strings of limited length, tokens up to so many bytes take the short way as long as so many characters may follow. */
    private static final int SHORT = 20;

    private final Tokenizer tokenizer;
    private final TokenTrie all;
    private final long[][] plainUpTo = new long[LONGEST_PLAIN + 1][];
    private final List<TokenTrie> behindPlain = new ArrayList<>();
    private final TokenTrie behindAnyPlain;
    private final TokenTrie behindQuote;
    private final long[] quoteLast;
    private final long[] inside;
    private final long[] shortTokens;
    /** Longer tokens that are not plain. */
    private final TokenTrie longTokens;

    private final int words;
    private final SortedSet<Integer> end;

    private GrammarVocabulary(Tokenizer tokenizer, SortedSet<Integer> end) {
        this.tokenizer = tokenizer;
        this.words = (tokenizer.vocabularySize() + 63) / 64;
        this.end = end;
        this.quoteLast = new long[words];
        this.shortTokens = new long[words];
        List<TokenTrie.Entry> entries = new ArrayList<>();
        List<TokenTrie.Entry> rests = new ArrayList<>();
        List<TokenTrie.Entry> quotes = new ArrayList<>();
        List<TokenTrie.Entry> longer = new ArrayList<>();
        List<List<TokenTrie.Entry>> byPlain = new ArrayList<>();
        for (int count = 0; count <= LONGEST_PLAIN; count++) {
            plainUpTo[count] = new long[words];
            byPlain.add(new ArrayList<>());
        }
        for (int token = 0; token < tokenizer.vocabularySize(); token++) {
            byte[] bytes = tokenizer.bytes(token);
            if (bytes.length == 0 || tokenizer.isControl(token) || end.contains(token)) {
                continue;
            }
            entries.add(new TokenTrie.Entry(bytes, token));
            if (bytes.length <= SHORT) {
                set(shortTokens, token);
            }
            PlainPrefix prefix = PlainPrefix.of(bytes);
            int count = Math.min(prefix.characters(), LONGEST_PLAIN);
            if (prefix.bytes() == bytes.length) {
                set(plainUpTo[count], token);
                continue;
            }
            TokenTrie.Entry rest = new TokenTrie.Entry(Arrays.copyOfRange(bytes, prefix.bytes(), bytes.length), token);
            rests.add(rest);
            byPlain.get(count).add(rest);
            if (bytes.length > SHORT) {
                longer.add(new TokenTrie.Entry(bytes, token));
            }
            int quote = StringInterior.closingQuote(bytes);
            if (quote == bytes.length - 1) {
                set(quoteLast, token);
            } else if (quote >= 0) {
                quotes.add(new TokenTrie.Entry(Arrays.copyOfRange(bytes, quote + 1, bytes.length), token));
            }
        }
        for (int count = 1; count <= LONGEST_PLAIN; count++) {
            or(plainUpTo[count], plainUpTo[count - 1]);
        }
        all = new TokenTrie(entries);
        behindAnyPlain = new TokenTrie(rests);
        behindQuote = new TokenTrie(quotes);
        longTokens = new TokenTrie(longer);
        byPlain.forEach(list -> behindPlain.add(new TokenTrie(list)));
        inside = plainUpTo[LONGEST_PLAIN].clone();
        for (TokenTrie.Entry rest : rests) {
            if (StringInterior.staysInside(tokenizer.bytes(rest.token()))) {
                set(inside, rest.token());
            }
        }
    }

    /** Sorts the tokens of a tokenizer; takes some tenths of a second for 150,000 of them. */
    public static GrammarVocabulary of(Tokenizer tokenizer) {
        return of(tokenizer, tokenizer.specialTokens().end());
    }

    /** @param end tokens that end an answer, all below the tokenizer's vocabulary size */
    static GrammarVocabulary of(Tokenizer tokenizer, Set<Integer> end) {
        SortedSet<Integer> known = new TreeSet<>(end);
        known.removeIf(token -> token < 0 || token >= tokenizer.vocabularySize());
        return new GrammarVocabulary(tokenizer, known);
    }

    Tokenizer tokenizer() {
        return tokenizer;
    }

    boolean isEnd(int token) {
        return end.contains(token);
    }

    /** The tokens that can be read from a state, and the end tokens where the text may end. */
    long[] mask(GrammarMachine machine, GrammarMachine.State state) {
        long[] mask = new long[words];
        GrammarMachine.State plain = machine.plainStep(state);
        if (plain == null) {
            all.collect(machine, state, mask);
        } else if (plain == state) {
            if (machine.isFree(state)) {
                or(mask, inside);
                or(mask, exits(machine, machine.step(state, '"')));
            } else {
                or(mask, plainUpTo[LONGEST_PLAIN]);
                behindAnyPlain.collect(machine, state, mask);
            }
        } else if (!alongFree(machine, state, mask)) {
            alongPlain(machine, state, mask);
        }
        if (state.isAccepting() || isEmpty(mask)) {
            // Without any token that fits, ending is better than hanging.
            end.forEach(token -> set(mask, token));
        }
        return mask;
    }

    /** Tokens that close a string, given the state behind its quote. */
    private long[] exits(GrammarMachine machine, GrammarMachine.State behind) {
        long[] known = behind.behindQuote;
        if (known == null) {
            known = new long[words];
            if (!behind.isDead()) {
                or(known, quoteLast);
                behindQuote.collect(machine, behind, known);
                behind.behindQuote = known;
            }
        }
        return known;
    }

    /**
     * Strings of limited length but any characters, with room for all but the longest tokens.
     *
     * @return false when the state is not of this kind; nothing has been done then
     */
    private boolean alongFree(GrammarMachine machine, GrammarMachine.State start, long[] mask) {
        GrammarMachine.State behind = machine.step(start, '"');
        GrammarMachine.State state = start;
        int count = 0;
        while (count < LONGEST_PLAIN) {
            GrammarMachine.State next = machine.plainStep(state);
            boolean fits = next != null && machine.isFree(state) && machine.step(state, '"') == behind;
            if (!fits && count <= SHORT) {
                return false;
            }
            if (next == null) {
                break;
            }
            state = next;
            count++;
        }
        long[] closing = exits(machine, behind);
        for (int word = 0; word < words; word++) {
            mask[word] = (inside[word] | closing[word]) & shortTokens[word];
        }
        or(mask, plainUpTo[Math.min(count, LONGEST_PLAIN - 1)]);
        longTokens.collect(machine, start, mask);
        return true;
    }

    /** Strings whose plain characters each lead to another state. */
    private void alongPlain(GrammarMachine machine, GrammarMachine.State start, long[] mask) {
        GrammarMachine.State state = start;
        int count = 0;
        while (true) {
            behindPlain.get(count).collect(machine, state, mask);
            GrammarMachine.State next = machine.plainStep(state);
            if (next == null || next.isDead() || count == LONGEST_PLAIN) {
                break;
            }
            state = next;
            count++;
        }
        or(mask, plainUpTo[Math.min(count, LONGEST_PLAIN - 1)]);
    }

    private static void set(long[] mask, int token) {
        mask[token >> 6] |= 1L << token;
    }

    private static boolean isEmpty(long[] mask) {
        for (long word : mask) {
            if (word != 0) {
                return false;
            }
        }
        return true;
    }

    private static void or(long[] mask, long[] more) {
        for (int index = 0; index < mask.length; index++) {
            mask[index] |= more[index];
        }
    }

    /** All tokens but the end tokens. */
    long[] everythingButEnd() {
        long[] mask = new long[words];
        Arrays.fill(mask, -1L);
        end.forEach(token -> mask[token >> 6] &= ~(1L << token));
        return mask;
    }

    /** The end tokens alone. */
    long[] endOnly() {
        long[] mask = new long[words];
        end.forEach(token -> set(mask, token));
        return mask;
    }
}
