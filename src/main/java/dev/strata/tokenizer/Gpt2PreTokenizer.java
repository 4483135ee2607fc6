package dev.strata.tokenizer;

/** The pattern of GPT-2: <pre>'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+</pre> */
final class Gpt2PreTokenizer extends ScanningPreTokenizer {
    private static final int KNOWN = CharacterClass.SPACE | CharacterClass.LETTER | CharacterClass.NUMBER;

    @Override
    int pieceEnd(char[] text, int start, int end) {
        int contraction = contraction(text, start, end, false);
        if (contraction > start) {
            return contraction;
        }
        int first = text[start] == ' ' && start + 1 < end ? start + 1 : start;
        int kind = CharacterClass.at(text, first, end) & KNOWN;
        return switch (kind) {
            case CharacterClass.LETTER, CharacterClass.NUMBER -> run(text, first, end, kind);
            case 0 -> runWithout(text, first, end, KNOWN);
            default -> spaces(text, start, end, false);
        };
    }
}
