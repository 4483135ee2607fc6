package dev.strata.grammar;

/**
 * A token as a piece from inside a JSON string of any characters, as {@link StringRules} writes such strings.
 *
 * @param characters how many characters of the string the token holds up to the closing quote; one that the token's end cuts counts
 * @param quote where the token closes the string; -1: it stays inside
 */
record StringInterior(int characters, int quote) {
    /** What cannot stand inside a string. */
    static final StringInterior NONE = new StringInterior(-1, -1);

    static StringInterior of(byte[] token) {
        int at = 0;
        int characters = 0;
        while (at < token.length) {
            int length = token[at] == '\\' ? escape(token, at) : character(token, at);
            if (length == 0) {
                return token[at] == '"' ? new StringInterior(characters, at) : NONE;
            }
            at += length;
            characters++;
        }
        return new StringInterior(characters, -1);
    }

    static boolean hasEscape(byte[] token) {
        for (byte value : token) {
            if (value == '\\') {
                return true;
            }
        }
        return false;
    }

    /**
     * What a token holds of a string.
     *
     * @param end where it closes the string, or its own
     */
    static LetterClasses contents(byte[] token, int end) {
        ClassSet plain = ClassSet.NONE;
        int escapes = 0;
        int at = 0;
        while (at < end) {
            if (token[at] == '\\') {
                escapes |= at + 1 < end ? 1 << LetterClasses.ESCAPES.indexOf(token[at + 1]) : LetterClasses.CUT;
                at += escape(token, at);
            } else {
                plain = plain.with(Characters.classOf(token[at] & 0xFF));
                at += character(token, at);
            }
        }
        return new LetterClasses(plain, escapes);
    }

    boolean isPossible() {
        return characters >= 0;
    }

    private static int character(byte[] token, int at) {
        return token[at] >= 0 && token[at] < 0x20 || token[at] == '"' ? 0 : Characters.length(token, at);
    }

    /** Bytes of an escape, also one that the token's end cuts; 0 when there is none. */
    private static int escape(byte[] token, int at) {
        if (at + 1 >= token.length) {
            return 1;
        }
        if (token[at + 1] != 'u') {
            return "\"\\/bfnrt".indexOf(token[at + 1]) >= 0 ? 2 : 0;
        }
        int end = Math.min(token.length, at + 6);
        for (int index = at + 2; index < end; index++) {
            if (Character.digit(token[index], 16) < 0) {
                return 0;
            }
        }
        boolean surrogate = at + 3 < token.length
                && (token[at + 2] == 'd' || token[at + 2] == 'D')
                && Character.digit(token[at + 3], 16) > 7;
        return surrogate ? 0 : end - at;
    }
}
