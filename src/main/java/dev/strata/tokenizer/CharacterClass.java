package dev.strata.tokenizer;

/** Unicode classes that pre-tokenizers ask for, as bits; looked up in a table for the basic plane. */
final class CharacterClass {
    /** Letters: \p{L}. */
    static final int LETTER = 1;
    /** Numbers: \p{N}. */
    static final int NUMBER = 2;
    /** Unicode White_Space. */
    static final int SPACE = 4;
    /** Combining marks: \p{M}. */
    static final int MARK = 8;
    /** Upper, title, modifier and other letters, and marks. */
    static final int UPPER = 16;
    /** Lower, modifier and other letters, and marks. */
    static final int LOWER = 32;
    /** Carriage return and line feed. */
    static final int NEWLINE = 64;

    private static final byte[] BASIC_PLANE = table();

    private CharacterClass() {}

    /** Class bits of the character that begins at {@code index}. */
    static int at(char[] text, int index, int end) {
        char unit = text[index];
        if (Character.isHighSurrogate(unit) && index + 1 < end && Character.isLowSurrogate(text[index + 1])) {
            return of(Character.toCodePoint(unit, text[index + 1]));
        }
        return BASIC_PLANE[unit];
    }

    /** UTF-16 units of the character that begins at {@code index}. */
    static int width(char[] text, int index, int end) {
        return Character.isHighSurrogate(text[index]) && index + 1 < end && Character.isLowSurrogate(text[index + 1])
                ? 2
                : 1;
    }

    private static byte[] table() {
        byte[] table = new byte[0x10000];
        for (int unit = 0; unit < table.length; unit++) {
            table[unit] = (byte) of(unit);
        }
        return table;
    }

    static int of(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.UPPERCASE_LETTER, Character.TITLECASE_LETTER -> LETTER | UPPER;
            case Character.LOWERCASE_LETTER -> LETTER | LOWER;
            case Character.MODIFIER_LETTER, Character.OTHER_LETTER -> LETTER | UPPER | LOWER;
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK ->
                MARK | UPPER | LOWER;
            case Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> NUMBER;
            case Character.SPACE_SEPARATOR, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> SPACE;
            default -> control(codePoint);
        };
    }

    private static int control(int codePoint) {
        if (codePoint == '\n' || codePoint == '\r') {
            return SPACE | NEWLINE;
        }
        return codePoint >= '\t' && codePoint <= '\r' || codePoint == 0x85 ? SPACE : 0;
    }
}
