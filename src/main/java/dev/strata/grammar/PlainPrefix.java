package dev.strata.grammar;

/**
 * How much of a token is plain characters (see {@link Utf8Bytes#PLAIN}), each whole and well formed.
 *
 * @param bytes length in bytes
 * @param characters length in characters
 */
record PlainPrefix(int bytes, int characters) {
    static PlainPrefix of(byte[] token) {
        int at = 0;
        int characters = 0;
        while (at < token.length) {
            int length = length(token, at);
            if (length == 0) {
                break;
            }
            at += length;
            characters++;
        }
        return new PlainPrefix(at, characters);
    }

    /** Bytes of the plain character at {@code at}, 0 when there is none. */
    private static int length(byte[] token, int at) {
        int lead = token[at] & 0xFF;
        if (lead < 0x80) {
            return lead >= 0x20 && lead != '"' && lead != '\\' ? 1 : 0;
        }
        int length = lead >= 0xC2 && lead <= 0xDF
                ? 2
                : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
        if (length == 0 || at + length > token.length) {
            return 0;
        }
        int second = token[at + 1] & 0xFF;
        int low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        int high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (second < low || second > high) {
            return 0;
        }
        for (int index = 2; index < length; index++) {
            if ((token[at + index] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }
}
