package dev.strata.tokenizer;

/**
 * The pattern of qwen2 and its relatives:
 *
 * <pre>(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+</pre>
 *
 * with up to three numbers together for llama-bpe, and with combining marks counted as letters for qwen35.
 */
final class WordPreTokenizer extends ScanningPreTokenizer {
    private final int letters;
    private final int digits;

    WordPreTokenizer(boolean marksAreLetters, int digits) {
        this.letters = CharacterClass.LETTER | (marksAreLetters ? CharacterClass.MARK : 0);
        this.digits = digits;
    }

    @Override
    int pieceEnd(char[] text, int start, int end) {
        int contraction = contraction(text, start, end, true);
        if (contraction > start) {
            return contraction;
        }
        int kind = CharacterClass.at(text, start, end);
        int next = start + CharacterClass.width(text, start, end);
        if ((kind & letters) != 0) {
            return run(text, next, end, letters);
        }
        if ((kind & CharacterClass.NUMBER) != 0) {
            return numbers(text, start, end, digits);
        }
        int following = next < end ? CharacterClass.at(text, next, end) : CharacterClass.SPACE;
        if ((kind & CharacterClass.NEWLINE) == 0 && (following & letters) != 0) {
            return run(text, next, end, letters);
        }
        int known = CharacterClass.SPACE | CharacterClass.NUMBER | letters;
        if ((kind & CharacterClass.SPACE) == 0 || text[start] == ' ' && (following & known) == 0) {
            return run(text, runWithout(text, next, end, known), end, CharacterClass.NEWLINE);
        }
        return spaces(text, start, end, true);
    }
}
