package dev.strata.chat;

/** Finds the end of a JSON value by its brackets and quotes, without checking the rest of its grammar. */
final class JsonSpan {
    /** Where a character lies. */
    enum Place {
        INSIDE,
        /** It is the last one of the value. */
        ENDED,
        /** The value (a number or word) ended before it. */
        ENDED_BEFORE,
        /** It cannot stand there, as a tag's bracket outside of a string. */
        BROKEN
    }

    private int depth;
    private boolean inString;
    private boolean escaped;
    private boolean inWord;

    void begin() {
        depth = 0;
        inString = false;
        escaped = false;
        inWord = false;
    }

    Place accept(char unit) {
        if (inString) {
            if (escaped) {
                escaped = false;
            } else if (unit == '\\') {
                escaped = true;
            } else if (unit == '"') {
                inString = false;
                return depth == 0 ? Place.ENDED : Place.INSIDE;
            }
            return Place.INSIDE;
        }
        if (inWord && depth == 0 && (unit == ',' || unit == '}' || unit == ']' || unit <= ' ')) {
            return Place.ENDED_BEFORE;
        }
        switch (unit) {
            case '"' -> inString = true;
            case '{', '[' -> depth++;
            case '}', ']' -> {
                return --depth == 0 ? Place.ENDED : depth < 0 ? Place.BROKEN : Place.INSIDE;
            }
            case '<' -> {
                return Place.BROKEN;
            }
            default -> inWord = true;
        }
        return Place.INSIDE;
    }
}
