package dev.strata.tokenizer;

import org.jspecify.annotations.Nullable;

/**
 * The printable alphabet in which byte-level vocabularies are written (GPT-2): printable bytes of Latin-1 stand for themselves, the other
 * 68 bytes for the characters from U+0100 on.
 */
final class ByteLevel {
    private static final short[] BYTES = new short[0x144];

    static {
        java.util.Arrays.fill(BYTES, (short) -1);
        char next = 0x100;
        for (int value = 0; value < 256; value++) {
            boolean printable =
                    value >= '!' && value <= '~' || value >= 0xA1 && value <= 0xAC || value >= 0xAE && value <= 0xFF;
            char character = printable ? (char) value : next++;
            BYTES[character] = (short) value;
        }
    }

    private ByteLevel() {}

    /** Writes the bytes of an entry to {@code bytes}; their number, or -1 when it is not written in this alphabet. */
    static int decode(String token, byte[] bytes) {
        for (int index = 0; index < token.length(); index++) {
            char character = token.charAt(index);
            if (character >= BYTES.length || BYTES[character] < 0) {
                return -1;
            }
            bytes[index] = (byte) BYTES[character];
        }
        return token.length();
    }

    /** The bytes that a vocabulary entry stands for, or null when it is not written in this alphabet. */
    static byte @Nullable [] decode(String token) {
        byte[] bytes = new byte[token.length()];
        return decode(token, bytes) < 0 ? null : bytes;
    }
}
