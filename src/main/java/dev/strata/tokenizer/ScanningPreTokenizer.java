package dev.strata.tokenizer;

/** A pre-tokenizer that finds the end of each piece by looking at characters, many times faster than a regular expression. */
abstract class ScanningPreTokenizer implements PreTokenizer {
    @Override
    public final void split(char[] text, int from, int to, Pieces pieces) {
        int start = from;
        while (start < to) {
            int end = pieceEnd(text, start, to);
            pieces.piece(text, start, end);
            start = end;
        }
    }

    /** End of the piece that begins at {@code start}; always beyond it. */
    abstract int pieceEnd(char[] text, int start, int end);

    /** End of the longest run from {@code index} whose characters have one of the class bits. */
    static int run(char[] text, int index, int end, int classes) {
        int at = index;
        while (at < end && (CharacterClass.at(text, at, end) & classes) != 0) {
            at += CharacterClass.width(text, at, end);
        }
        return at;
    }

    /** The same for characters that have none of the class bits. */
    static int runWithout(char[] text, int index, int end, int classes) {
        int at = index;
        while (at < end && (CharacterClass.at(text, at, end) & classes) == 0) {
            at += CharacterClass.width(text, at, end);
        }
        return at;
    }

    /** At most {@code limit} numbers. */
    static int numbers(char[] text, int index, int end, int limit) {
        int at = index;
        for (int count = 0; count < limit && at < end; count++) {
            if ((CharacterClass.at(text, at, end) & CharacterClass.NUMBER) == 0) {
                break;
            }
            at += CharacterClass.width(text, at, end);
        }
        return at;
    }

    /** {@code \s*[\r\n]+|\s+(?!\S)|\s+}: up to the last line break, else all but the space before the next word. */
    static int spaces(char[] text, int start, int end, boolean breaksFirst) {
        int stop = run(text, start, end, CharacterClass.SPACE);
        if (breaksFirst) {
            for (int at = stop - 1; at >= start; at--) {
                if (text[at] == '\n' || text[at] == '\r') {
                    return at + 1;
                }
            }
        }
        return stop == end || stop - start == 1 ? stop : stop - 1;
    }

    /** End of {@code 's|'t|'re|'ve|'m|'ll|'d} at {@code index}, or {@code index} when there is none. */
    static int contraction(char[] text, int index, int end, boolean ignoreCase) {
        if (index + 1 >= end || text[index] != '\'') {
            return index;
        }
        char first = fold(text[index + 1], ignoreCase);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') {
            return index + 2;
        }
        if (index + 2 >= end) {
            return index;
        }
        char second = fold(text[index + 2], ignoreCase);
        boolean found = first == 'r' && second == 'e' || first == 'v' && second == 'e' || first == 'l' && second == 'l';
        return found ? index + 3 : index;
    }

    private static char fold(char unit, boolean ignoreCase) {
        if (!ignoreCase) {
            return unit;
        }
        // The long s folds to s in Unicode's simple case folding, which the regular expression follows.
        return unit == '\u017F' ? 's' : unit >= 'A' && unit <= 'Z' ? (char) (unit + 32) : unit;
    }
}
