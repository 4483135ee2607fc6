package dev.strata.tokenizer;

/**
 * The pattern of gpt-4o and gpt-oss, where a word is capitals followed by small letters:
 *
 * <pre>[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+</pre>
 */
final class Gpt4oPreTokenizer extends ScanningPreTokenizer {
    private static final int KNOWN = CharacterClass.SPACE | CharacterClass.LETTER | CharacterClass.NUMBER;

    @Override
    int pieceEnd(char[] text, int start, int end) {
        int kind = CharacterClass.at(text, start, end);
        int next = start + CharacterClass.width(text, start, end);
        boolean prefix = (kind & (CharacterClass.NEWLINE | CharacterClass.LETTER | CharacterClass.NUMBER)) == 0;
        int word = word(text, prefix ? next : start, end);
        if (word < 0 && prefix) {
            word = word(text, start, end);
        }
        if (word < 0) {
            word = capitals(text, prefix ? next : start, end);
        }
        if (word < 0 && prefix) {
            word = capitals(text, start, end);
        }
        if (word >= 0) {
            return contraction(text, word, end, true);
        }
        if ((kind & CharacterClass.NUMBER) != 0) {
            return numbers(text, start, end, 3);
        }
        int following = next < end ? CharacterClass.at(text, next, end) : CharacterClass.SPACE;
        if ((kind & CharacterClass.SPACE) == 0 || text[start] == ' ' && (following & KNOWN) == 0) {
            return breaksAndSlashes(text, runWithout(text, next, end, KNOWN), end);
        }
        return spaces(text, start, end, true);
    }

    /** First alternative without its prefix: capitals as far as a small (or caseless) letter can still follow. -1: no match. */
    private static int word(char[] text, int start, int end) {
        int lastLower = -1;
        int at = start;
        while (at < end) {
            int kind = CharacterClass.at(text, at, end);
            if ((kind & CharacterClass.UPPER) == 0) {
                break;
            }
            int next = at + CharacterClass.width(text, at, end);
            if ((kind & CharacterClass.LOWER) != 0) {
                lastLower = next;
            }
            at = next;
        }
        int lower = run(text, at, end, CharacterClass.LOWER);
        return lower > at ? lower : lastLower;
    }

    /** Second alternative without its prefix. -1: no match. */
    private static int capitals(char[] text, int start, int end) {
        int upper = run(text, start, end, CharacterClass.UPPER);
        return upper > start ? run(text, upper, end, CharacterClass.LOWER) : -1;
    }

    private static int breaksAndSlashes(char[] text, int index, int end) {
        int at = index;
        while (at < end && (text[at] == '\r' || text[at] == '\n' || text[at] == '/')) {
            at++;
        }
        return at;
    }
}
