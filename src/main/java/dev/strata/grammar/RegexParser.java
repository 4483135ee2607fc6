package dev.strata.grammar;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Parses the regular part of JavaScript's expressions, as the keyword {@code pattern} has them: no look-around, no references, anchors only
 * at the ends of alternatives.
 */
final class RegexParser {
    private static final int MOST_REPEATS = 10_000;
    private static final int MOST_RANGES = 3_000;
    private static final CodePointSet DIGITS = CodePointSet.range('0', '9');
    private static final CodePointSet WORDS = CodePointSet.range('a', 'z')
            .union(CodePointSet.range('A', 'Z'))
            .union(DIGITS)
            .union(CodePointSet.of("_"));
    private static final CodePointSet SPACES = CodePointSet.of(
                    " \t\n\r\f\u000B\u00A0\u1680\u2028\u2029\u202F\u205F\u3000\uFEFF")
            .union(CodePointSet.range(0x2000, 0x200A));

    private final String source;
    private final int[] text;
    private int at;
    private int depth;

    private RegexParser(String source) {
        this.source = source;
        this.text = source.codePoints().toArray();
    }

    /**
     * The strings in which the expression is found.
     *
     * @throws GrammarException naming the construct that is not supported
     */
    static Pattern search(String source) {
        RegexParser parser = new RegexParser(source);
        List<Pattern> options = new ArrayList<>();
        do {
            options.add(parser.anchored());
        } while (parser.take('|'));
        if (parser.at < parser.text.length) {
            throw parser.unsupported("an unmatched )");
        }
        return options.size() == 1 ? options.getFirst() : new Pattern.Choice(options);
    }

    /** The strings that match as a whole; for expressions of our own. */
    static Pattern whole(String source) {
        return search("^(?:" + source + ")$");
    }

    private Pattern anchored() {
        Pattern anything = new Pattern.Repeat(new Pattern.Characters(CodePointSet.ALL), 0, -1);
        boolean begins = take('^');
        Pattern middle = sequence();
        boolean ends = take('$');
        List<Pattern> parts = new ArrayList<>();
        if (!begins) {
            parts.add(anything);
        }
        parts.add(middle);
        if (!ends) {
            parts.add(anything);
        }
        return new Pattern.Sequence(parts);
    }

    private Pattern choice() {
        List<Pattern> options = new ArrayList<>();
        do {
            options.add(sequence());
        } while (take('|'));
        return options.size() == 1 ? options.getFirst() : new Pattern.Choice(options);
    }

    private Pattern sequence() {
        if (++depth > 100) {
            throw unsupported("nesting deeper than 100");
        }
        List<Pattern> parts = new ArrayList<>();
        while (at < text.length && text[at] != '|' && text[at] != ')' && !isEndAnchor()) {
            parts.add(quantified(atom()));
        }
        depth--;
        return parts.size() == 1 ? parts.getFirst() : new Pattern.Sequence(parts);
    }

    private boolean isEndAnchor() {
        return text[at] == '$' && (at + 1 == text.length || text[at + 1] == '|');
    }

    private Pattern atom() {
        int unit = text[at++];
        return switch (unit) {
            case '(' -> group();
            case '[' -> new Pattern.Characters(characterClass());
            case '.' ->
                new Pattern.Characters(CodePointSet.of("\n\r\u2028\u2029").complement());
            case '\\' -> new Pattern.Characters(escape());
            case '^', '$' -> throw unsupported("the anchor " + Character.toString(unit) + " inside of the expression");
            case '*', '+', '?' -> throw unsupported("a quantifier with nothing in front");
            default -> new Pattern.Characters(CodePointSet.range(unit, unit));
        };
    }

    private Pattern group() {
        if (take('?')) {
            if (take('<') && at < text.length && text[at] != '=' && text[at] != '!') {
                while (at < text.length && text[at] != '>') {
                    at++;
                }
                at++;
            } else if (!take(':')) {
                throw unsupported("look-around or another special group");
            }
        }
        Pattern inner = choice();
        if (!take(')')) {
            throw unsupported("a group that is not closed");
        }
        return inner;
    }

    private Pattern quantified(Pattern atom) {
        Pattern value = repeated(atom);
        if (value == null) {
            return atom;
        }
        // A lazy quantifier matches the same strings.
        take('?');
        if (repeated(atom) != null) {
            throw unsupported("a quantifier behind a quantifier");
        }
        return value;
    }

    /** The atom with the quantifier that comes next; null when there is none. */
    private @Nullable Pattern repeated(Pattern atom) {
        if (take('*')) {
            return Pattern.repeated(atom, 0, -1);
        }
        if (take('+')) {
            return Pattern.repeated(atom, 1, -1);
        }
        if (take('?')) {
            return Pattern.repeated(atom, 0, 1);
        }
        if (at + 1 < text.length && text[at] == '{' && isDigit(text[at + 1])) {
            at++;
            int least = count();
            int most = !take(',') ? least : at < text.length && text[at] == '}' ? -1 : count();
            if (!take('}')) {
                throw unsupported("a repetition that is not closed");
            }
            if (most >= 0 && most < least) {
                throw unsupported("a repetition with a smaller maximum than minimum");
            }
            return Pattern.repeated(atom, least, most);
        }
        return null;
    }

    private static boolean isDigit(int unit) {
        return unit >= '0' && unit <= '9';
    }

    private int count() {
        int value = 0;
        while (at < text.length && isDigit(text[at])) {
            value = value * 10 + text[at++] - '0';
            if (value > MOST_REPEATS) {
                throw unsupported("more than " + MOST_REPEATS + " repetitions");
            }
        }
        if (at >= text.length) {
            throw unsupported("a repetition that is not closed");
        }
        return value;
    }

    private CodePointSet characterClass() {
        boolean negated = take('^');
        List<CodePointSet> members = new ArrayList<>();
        while (at < text.length && text[at] != ']') {
            CodePointSet first = classMember();
            if (at + 1 < text.length && text[at] == '-' && text[at + 1] != ']' && first.isSingle()) {
                at++;
                CodePointSet last = classMember();
                if (!last.isSingle() || last.first(0) < first.first(0)) {
                    throw unsupported("a range out of order");
                }
                first = CodePointSet.range(first.first(0), last.first(0));
            }
            members.add(first);
        }
        if (!take(']')) {
            throw unsupported("a character class that is not closed");
        }
        CodePointSet set = CodePointSet.union(members);
        if (set.ranges() > MOST_RANGES) {
            throw unsupported("a character class of more than " + MOST_RANGES + " ranges");
        }
        return negated ? set.complement() : set;
    }

    private CodePointSet classMember() {
        int unit = text[at++];
        if (unit == '\\' && at < text.length && text[at] == 'b') {
            at++;
            return CodePointSet.of("\b");
        }
        return unit == '\\' ? escape() : CodePointSet.range(unit, unit);
    }

    private CodePointSet escape() {
        if (at >= text.length) {
            throw unsupported("a \\ at the end");
        }
        int letter = text[at++];
        return switch (letter) {
            case 'd' -> DIGITS;
            case 'D' -> DIGITS.complement();
            case 'w' -> WORDS;
            case 'W' -> WORDS.complement();
            case 's' -> SPACES;
            case 'S' -> SPACES.complement();
            case 'n' -> CodePointSet.of("\n");
            case 't' -> CodePointSet.of("\t");
            case 'r' -> CodePointSet.of("\r");
            case 'f' -> CodePointSet.of("\f");
            case 'v' -> CodePointSet.of("\u000B");
            case '0' -> CodePointSet.of("\0");
            case 'x' -> hexadecimal(2);
            case 'u' -> take('{') ? braced() : hexadecimal(4);
            case 'p', 'P' -> property(letter == 'P');
            default -> {
                if (Character.isLetterOrDigit(letter)) {
                    throw unsupported("\\" + Character.toString(letter));
                }
                yield CodePointSet.range(letter, letter);
            }
        };
    }

    private CodePointSet hexadecimal(int digits) {
        int value = 0;
        for (int count = 0; count < digits; count++) {
            int digit = at < text.length ? Character.digit(text[at++], 16) : -1;
            if (digit < 0) {
                throw unsupported("an escape without its hexadecimal digits");
            }
            value = value << 4 | digit;
        }
        return CodePointSet.range(value, value);
    }

    private CodePointSet braced() {
        int value = 0;
        while (at < text.length && Character.digit(text[at], 16) >= 0 && value <= CodePointSet.LAST) {
            value = value << 4 | Character.digit(text[at++], 16);
        }
        if (!take('}') || value > CodePointSet.LAST) {
            throw unsupported("a malformed \\u{...}");
        }
        return CodePointSet.range(value, value);
    }

    /** Categories and scripts. */
    private CodePointSet property(boolean negated) {
        StringBuilder name = new StringBuilder();
        if (take('{')) {
            while (at < text.length && text[at] != '}') {
                name.appendCodePoint(text[at++]);
            }
            take('}');
        }
        CodePointSet set = UnicodeProperties.of(name.toString());
        if (set == null) {
            throw unsupported("\\p{" + name + "}");
        }
        return negated ? set.complement() : set;
    }

    private boolean take(int unit) {
        boolean found = at < text.length && text[at] == unit;
        if (found) {
            at++;
        }
        return found;
    }

    private GrammarException unsupported(String what) {
        return new GrammarException(
                "\"pattern\": the expression " + source + " has " + what + ", which is not supported");
    }
}
