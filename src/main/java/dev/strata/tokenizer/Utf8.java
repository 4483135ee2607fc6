package dev.strata.tokenizer;

/** UTF-16 to UTF-8 without an object in between. */
final class Utf8 {
    private Utf8() {}

    /** Writes {@code text[from, to)} to {@code bytes} and returns the length; halves of surrogate pairs become U+FFFD. */
    static int encode(char[] text, int from, int to, byte[] bytes) {
        int length = 0;
        for (int index = from; index < to; index++) {
            char unit = text[index];
            if (unit < 0x80) {
                bytes[length++] = (byte) unit;
            } else if (unit < 0x800) {
                bytes[length++] = (byte) (0xC0 | unit >> 6);
                bytes[length++] = (byte) (0x80 | unit & 0x3F);
            } else if (Character.isHighSurrogate(unit) && index + 1 < to && Character.isLowSurrogate(text[index + 1])) {
                int codePoint = Character.toCodePoint(unit, text[++index]);
                bytes[length++] = (byte) (0xF0 | codePoint >> 18);
                bytes[length++] = (byte) (0x80 | codePoint >> 12 & 0x3F);
                bytes[length++] = (byte) (0x80 | codePoint >> 6 & 0x3F);
                bytes[length++] = (byte) (0x80 | codePoint & 0x3F);
            } else {
                char whole = Character.isSurrogate(unit) ? '\uFFFD' : unit;
                bytes[length++] = (byte) (0xE0 | whole >> 12);
                bytes[length++] = (byte) (0x80 | whole >> 6 & 0x3F);
                bytes[length++] = (byte) (0x80 | whole & 0x3F);
            }
        }
        return length;
    }
}
