package dev.strata.grammar;

/**
 * Sorts characters into 128 classes, so that a set of classes is two words: every ASCII character but the rare control ones alone, the others
 * by the first byte of their UTF-8.
 */
final class Characters {
    static final int CLASSES = 128;
    /** Control characters other than tab and line breaks. */
    static final int CONTROL = 0;
    /** Bytes that are no character, nor the beginning of one that the end of the token cuts. */
    static final int MALFORMED = 31;

    private static final int FIRST_LEAD = 0xC2;
    private static final int LAST_LEAD = 0xF4;
    /** Classes of the leads C2 to F4; they use the numbers of control characters. */
    private static final int[] LEADS = {
        1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 8, 11, 11, 11, 11, 11, 11, 14, 15, 16, 17,
        18, 18, 18, 18, 18, 18, 19, 20, 20, 21, 22, 23, 24, 25, 25, 25, 25
    };

    private Characters() {}

    /** Bytes of the character at {@code at}, also of one that the end cuts; 0 when there is none. */
    static int length(byte[] bytes, int at) {
        int lead = bytes[at] & 0xFF;
        int end = Math.min(bytes.length, at + lengthOf(lead));
        for (int index = at + 1; index < end; index++) {
            int value = bytes[index] & 0xFF;
            int low = index > at + 1 ? 0x80 : lowestSecond(lead);
            int high = index > at + 1 ? 0xBF : highestSecond(lead);
            if (value < low || value > high) {
                return 0;
            }
        }
        return end - at;
    }

    /** The first of the characters that begin with {@code lead}. */
    static int firstOf(int lead) {
        return character(lead, lowestSecond(lead), 0);
    }

    /** The last of the characters that begin with {@code lead}. */
    static int lastOf(int lead) {
        return character(lead, highestSecond(lead), 0x3F);
    }

    private static int character(int lead, int second, int others) {
        int high = second & 0x3F;
        return switch (lengthOf(lead)) {
            case 2 -> (lead & 0x1F) << 6 | high;
            case 3 -> (lead & 0x0F) << 12 | high << 6 | others;
            case 4 -> (lead & 0x07) << 18 | high << 12 | others << 6 | others;
            default -> lead;
        };
    }

    /** Bytes of characters that begin with {@code lead}; 0 when none do. */
    static int lengthOf(int lead) {
        if (lead < 0x80) {
            return 1;
        }
        return lead < FIRST_LEAD || lead > LAST_LEAD ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }

    static int lowestSecond(int lead) {
        return lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    }

    static int highestSecond(int lead) {
        return lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    }

    /** The class of characters with this first byte. */
    static int classOf(int first) {
        if (first < 0x80) {
            return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? first : CONTROL;
        }
        return lengthOf(first) == 0 ? MALFORMED : LEADS[first - FIRST_LEAD];
    }
}
