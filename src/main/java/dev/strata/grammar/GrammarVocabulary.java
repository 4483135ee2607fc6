package dev.strata.grammar;

import dev.strata.tokenizer.Tokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The vocabulary as masks are made from it. Where nearly every token is allowed, the answer is prepared as far as it can be:
 *
 * <ul>
 *   <li>inside JSON strings: {@link StringTokens};
 *   <li>for sets of characters that were met in grammars, the tokens that hold no others.
 * </ul>
 *
 * <p>Only what is left is looked for in the tree of all tokens.
 */
public final class GrammarVocabulary {
    private static final int KEPT_SETS = 64;

    private final Tokenizer tokenizer;
    private final SortedSet<Integer> end;
    private final int words;
    private final ClosingTag closingTag;
    private final TokenTrie all;
    private final StringTokens strings;
    /** Tokens that are characters, the last one possibly cut, by their number. */
    private final CountedTokens characters;
    /** Those of them that begin with a blank, by the number of characters behind it. */
    private final CountedTokens blankFirst;
    /** Tokens without a blank behind their first character. */
    private final long[] withoutInnerBlank;
    /** For each class of {@link Characters} the tokens without any of it. */
    private final long[][] without = new long[Characters.CLASSES][];

    private final Map<CharacterSet, long[]> only = new LinkedHashMap<>(KEPT_SETS, 0.75f, true);

    private record CharacterSet(ClassSet classes, boolean behindBlank) {}

    private GrammarVocabulary(Tokenizer tokenizer, SortedSet<Integer> end) {
        this.tokenizer = tokenizer;
        this.end = end;
        int size = tokenizer.vocabularySize();
        words = (size + 63) / 64;
        for (int index = 0; index < without.length; index++) {
            without[index] = new long[words];
        }
        StringTokens.Builder interiors = new StringTokens.Builder(size);
        int[] characterCounts = CountedTokens.none(size);
        int[] blankCounts = CountedTokens.none(size);
        withoutInnerBlank = new long[words];
        List<TokenTrie.Entry> entries = new ArrayList<>(size);
        for (int token = 0; token < size; token++) {
            byte[] bytes = tokenizer.bytes(token);
            if (bytes.length == 0 || tokenizer.isControl(token) || end.contains(token)) {
                continue;
            }
            entries.add(new TokenTrie.Entry(bytes, token));
            characterCounts[token] = classify(bytes, token);
            if (bytes[0] == ' ') {
                blankCounts[token] = Math.max(characterCounts[token] - 1, -1);
            }
            if (!hasInnerBlank(bytes)) {
                set(withoutInnerBlank, token);
            }
            interiors.add(token, bytes);
        }
        for (long[] tokens : without) {
            for (int word = 0; word < words; word++) {
                tokens[word] = ~tokens[word];
            }
        }
        closingTag = new ClosingTag(tokenizer);
        all = new TokenTrie(entries);
        strings = interiors.build(without);
        characters = new CountedTokens(characterCounts);
        blankFirst = new CountedTokens(blankCounts);
    }

    private static boolean hasInnerBlank(byte[] bytes) {
        for (int index = 1; index < bytes.length; index++) {
            if (bytes[index] == ' ') {
                return true;
            }
        }
        return false;
    }

    /** Notes the classes of the token's characters; returns their number, -1 when some bytes are no characters. */
    private int classify(byte[] bytes, int token) {
        int count = 0;
        int at = 0;
        while (at < bytes.length) {
            int length = Characters.length(bytes, at);
            if (length == 0) {
                set(without[Characters.MALFORMED], token);
                return -1;
            }
            set(without[Characters.classOf(bytes[at] & 0xFF)], token);
            at += length;
            count++;
        }
        return count;
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

    ClosingTag closingTag() {
        return closingTag;
    }

    boolean isEnd(int token) {
        return end.contains(token);
    }

    /** The tokens that can be read from a state, and the end tokens where the text may end; not to be changed. */
    long[] mask(GrammarMachine machine, GrammarMachine.State state) {
        long[] mask = strings.mask(machine, state);
        if (mask == null) {
            mask = new long[words];
            anywhere(machine, state, mask);
        }
        if (state.isAccepting() || isEmpty(mask)) {
            // Without any token that fits, ending is better than hanging.
            mask = mask.clone();
            for (int token : end) {
                set(mask, token);
            }
        }
        return mask;
    }

    private void anywhere(GrammarMachine machine, GrammarMachine.State start, long[] mask) {
        Roaming roaming = machine.roaming(start);
        if (roaming.run() > 0) {
            characters.addCommon(mask, only(roaming.classes(), false), 0, roaming.run());
        }
        Roaming behindBlank = Roaming.NONE;
        if (!roaming.classes().contains(' ')) {
            // Half of the tokens begin with a blank, behind which the text may go on in another way.
            behindBlank = machine.roaming(machine.step(start, ' '));
            if (behindBlank.run() > 0) {
                blankFirst.addCommon(mask, only(behindBlank.classes(), true), 0, behindBlank.run());
            }
        }
        all.collect(machine, start, roaming, behindBlank, mask);
    }

    /** The tokens that hold only characters of the set, behind a blank as their first one or from their beginning. */
    private long[] only(ClassSet classes, boolean behindBlank) {
        CharacterSet key = new CharacterSet(classes, behindBlank);
        synchronized (only) {
            long[] known = only.get(key);
            if (known == null) {
                known = new long[words];
                Arrays.fill(known, -1L);
                for (int index = 0; index < Characters.CLASSES; index++) {
                    if (!classes.contains(index)) {
                        long[] tokens = index == ' ' && behindBlank ? withoutInnerBlank : without[index];
                        for (int word = 0; word < words; word++) {
                            known[word] &= tokens[word];
                        }
                    }
                }
                only.put(key, known);
                if (only.size() > KEPT_SETS) {
                    only.remove(only.keySet().iterator().next());
                }
            }
            return known;
        }
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
