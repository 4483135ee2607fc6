package dev.strata.server.http;

/** Replaces unpaired surrogates. */
final class WellFormed {
    static final char REPLACEMENT = '\uFFFD';

    private WellFormed() {}

    static String text(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i)) && !pair(text, i++)) {
                return repaired(text);
            }
        }
        return text;
    }

    private static String repaired(String text) {
        StringBuilder repaired = new StringBuilder(text);
        for (int i = 0; i < repaired.length(); i++) {
            if (Character.isSurrogate(repaired.charAt(i))) {
                if (pair(repaired, i)) {
                    i++;
                } else {
                    repaired.setCharAt(i, REPLACEMENT);
                }
            }
        }
        return repaired.toString();
    }

    static boolean pair(CharSequence text, int at) {
        return Character.isHighSurrogate(text.charAt(at))
                && at + 1 < text.length()
                && Character.isLowSurrogate(text.charAt(at + 1));
    }
}
