package dev.strata.grammar;

import org.jspecify.annotations.Nullable;

/**
 * The characters that a {@link StringRules.Letter} may be, where whole classes of {@link Characters} tell.
 *
 * @param plain classes of the characters written as they are
 * @param escapes what may follow a backslash, one bit for each of {@link #ESCAPES}, and {@link #CUT} when anything may
 */
record LetterClasses(ClassSet plain, int escapes) {
    /** Behind a backslash; the last is the number of any character. */
    static final String ESCAPES = "\"\\bfnrt/u";

    /** A backslash with nothing behind it, at the end of a token. */
    static final int CUT = 1 << ESCAPES.length();

    /** The characters that the first seven of them stand for. */
    private static final String ESCAPED = "\"\\\b\f\n\r\t";

    /** All characters that a JSON string holds as they are. */
    private static final ClassSet PLAIN = new ClassSet(
            ~(1L << Characters.CONTROL | 1L << '\t' | 1L << '\n' | 1L << '\r' | 1L << '"' | 1L << Characters.MALFORMED),
            ~(1L << '\\'));

    static final LetterClasses ANYTHING = new LetterClasses(PLAIN, 2 * CUT - 1);

    /** Null when a class is only partly allowed. */
    static @Nullable LetterClasses of(StringRules.Letter letter) {
        if (letter.isAnything()) {
            return ANYTHING;
        }
        ClassSet some = ClassSet.NONE;
        ClassSet lacking = ClassSet.NONE;
        for (int first = ' '; first <= 0xF4; first++) {
            int kind = Characters.classOf(first);
            if (PLAIN.contains(kind)) {
                int all = Characters.lastOf(first) - Characters.firstOf(first) + 1;
                int allowed = letter.set().count(Characters.firstOf(first), Characters.lastOf(first));
                some = allowed == 0 ? some : some.with(kind);
                lacking = allowed == all ? lacking : lacking.with(kind);
            }
        }
        boolean clear = some.intersection(lacking).isEmpty();
        return clear ? new LetterClasses(some, letter.escapes() ? escapes(letter.set()) : 0) : null;
    }

    private static int escapes(CodePointSet set) {
        int escapes = 0;
        for (int index = 0; index < ESCAPED.length(); index++) {
            escapes |= set.contains(ESCAPED.charAt(index)) ? 1 << index : 0;
        }
        return escapes == 0 ? 0 : escapes | CUT;
    }

    /** The classes of the characters that a JSON string may hold as they are, but not this letter. */
    ClassSet missing() {
        return PLAIN.minus(plain);
    }

    /** Whether texts with these characters and escapes are texts of such letters. */
    boolean covers(LetterClasses contents) {
        return plain.containsAll(contents.plain) && (contents.escapes & ~escapes) == 0;
    }
}
