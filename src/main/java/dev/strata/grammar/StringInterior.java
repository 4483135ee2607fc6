package dev.strata.grammar;

/** Reads tokens as pieces from inside a JSON string of any characters, as {@link StringRules} writes such strings. */
final class StringInterior {
    private StringInterior() {}

    /** Where the token closes the string, -1 when it does not or cannot stand inside one. */
    static int closingQuote(byte[] token) {
        int at = skipInside(token);
        return at < token.length && token[at] == '"' ? at : -1;
    }

    /** Whether the whole token stays inside the string; it may end inside an escape or a character. */
    static boolean staysInside(byte[] token) {
        return skipInside(token) == token.length;
    }

    /** Length of the longest beginning that stays inside, in whole characters and escapes; all when only the last one is cut. */
    private static int skipInside(byte[] token) {
        int at = 0;
        while (at < token.length) {
            int length = token[at] == '\\' ? escape(token, at) : character(token, at);
            if (length == 0) {
                return at;
            }
            at += length;
        }
        return token.length;
    }

    /** Bytes of a character, also one that the token's end cuts; 0 when there is none. */
    private static int character(byte[] token, int at) {
        int lead = token[at] & 0xFF;
        if (lead < 0x80) {
            return lead >= 0x20 && lead != '"' ? 1 : 0;
        }
        int length = lead >= 0xC2 && lead <= 0xDF
                ? 2
                : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
        int end = Math.min(token.length, at + length);
        for (int index = at + 1; index < end; index++) {
            int value = token[index] & 0xFF;
            int low = index > at + 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
            int high = index > at + 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
            if (value < low || value > high) {
                return 0;
            }
        }
        return end - at;
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
