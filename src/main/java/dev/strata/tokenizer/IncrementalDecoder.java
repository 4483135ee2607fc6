package dev.strata.tokenizer;

/**
 * UTF-8 bytes that arrive in any pieces, given out as whole characters. At most three bytes are held back; bytes that cannot become a
 * character are replaced by U+FFFD at once, one for each longest invalid part (as the Unicode standard recommends). Not thread-safe.
 */
public final class IncrementalDecoder {
    private static final char REPLACEMENT = '\uFFFD';

    private final StringBuilder out = new StringBuilder();
    private int codePoint;
    private int missing;
    private int lowest = 0x80;
    private int highest = 0xBF;

    /** Takes more bytes and returns the characters that are complete now. */
    public String push(byte[] bytes) {
        if (missing == 0 && isAscii(bytes)) {
            return new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1);
        }
        out.setLength(0);
        for (byte value : bytes) {
            accept(value & 0xFF);
        }
        return out.toString();
    }

    /** Whether bytes of an unfinished character are held. */
    public boolean holds() {
        return missing > 0;
    }

    /** Ends the text: an unfinished character is dropped, because the answer was cut inside it. */
    public void dropRest() {
        missing = 0;
        lowest = 0x80;
        highest = 0xBF;
    }

    /** Ends the text: an unfinished character becomes U+FFFD. */
    public String replaceRest() {
        boolean held = holds();
        dropRest();
        return held ? String.valueOf(REPLACEMENT) : "";
    }

    private static boolean isAscii(byte[] bytes) {
        for (byte value : bytes) {
            if (value < 0) {
                return false;
            }
        }
        return true;
    }

    private void accept(int value) {
        if (missing > 0) {
            if (value >= lowest && value <= highest) {
                codePoint = codePoint << 6 | value & 0x3F;
                lowest = 0x80;
                highest = 0xBF;
                if (--missing == 0) {
                    out.appendCodePoint(codePoint);
                }
                return;
            }
            dropRest();
            out.append(REPLACEMENT);
        }
        lead(value);
    }

    /** Well-formed sequences of Unicode table 3-7: the second byte's range depends on the first. */
    private void lead(int value) {
        if (value < 0x80) {
            out.append((char) value);
        } else if (value >= 0xC2 && value <= 0xDF) {
            begin(value & 0x1F, 1, 0x80, 0xBF);
        } else if (value >= 0xE0 && value <= 0xEF) {
            begin(value & 0x0F, 2, value == 0xE0 ? 0xA0 : 0x80, value == 0xED ? 0x9F : 0xBF);
        } else if (value >= 0xF0 && value <= 0xF4) {
            begin(value & 0x07, 3, value == 0xF0 ? 0x90 : 0x80, value == 0xF4 ? 0x8F : 0xBF);
        } else {
            out.append(REPLACEMENT);
        }
    }

    private void begin(int bits, int following, int low, int high) {
        codePoint = bits;
        missing = following;
        lowest = low;
        highest = high;
    }
}
