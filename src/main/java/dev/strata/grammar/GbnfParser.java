package dev.strata.grammar;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses GBNF: rules {@code name ::= ...} with literals, character classes, groups, alternatives and repetitions, of which {@code root} is
 * the whole text. Written from the format's public description.
 */
final class GbnfParser {
    private static final int MOST_REPEATS = 10_000;
    private static final int MOST_SUFFIXES = 8;

    private final String text;
    private final Map<String, Pattern> rules = new LinkedHashMap<>();
    private int at;
    private int depth;

    private GbnfParser(String text) {
        this.text = text;
    }

    /** @throws GrammarException naming the line */
    static Automaton parse(String text) {
        GbnfParser parser = new GbnfParser(text);
        parser.rules();
        if (!parser.rules.containsKey("root")) {
            throw new GrammarException("the grammar has no rule \"root\"");
        }
        GrammarBuilder builder = new GrammarBuilder();
        Map<String, Integer> starts = new HashMap<>();
        parser.rules.keySet().forEach(name -> starts.put(name, builder.node()));
        parser.rules.forEach(
                (name, pattern) -> builder.end(builder.pattern(starts.getOrDefault(name, 0), pattern, starts)));
        return builder.build(starts.getOrDefault("root", 0));
    }

    private void rules() {
        space(true);
        while (at < text.length()) {
            String name = name();
            space(false);
            if (!text.startsWith("::=", at)) {
                throw wrong("expected ::= behind \"" + name + "\"");
            }
            at += 3;
            space(true);
            if (rules.put(name, choice(false)) != null) {
                throw wrong("the rule \"" + name + "\" is defined twice");
            }
            space(true);
        }
    }

    private Pattern choice(boolean inGroup) {
        if (++depth > 100) {
            throw wrong("nesting is deeper than 100");
        }
        List<Pattern> options = new ArrayList<>();
        options.add(sequence(inGroup));
        while (true) {
            int before = at;
            space(true);
            if (at < text.length() && text.charAt(at) == '|') {
                at++;
                space(true);
                options.add(sequence(inGroup));
            } else {
                at = before;
                break;
            }
        }
        depth--;
        return options.size() == 1 ? options.getFirst() : new Pattern.Choice(options);
    }

    private Pattern sequence(boolean inGroup) {
        List<Pattern> parts = new ArrayList<>();
        while (true) {
            space(inGroup);
            if (at >= text.length() || "|)\n\r".indexOf(text.charAt(at)) >= 0) {
                return parts.size() == 1 ? parts.getFirst() : new Pattern.Sequence(parts);
            }
            parts.add(repeated(atom()));
        }
    }

    private Pattern atom() {
        char first = text.charAt(at);
        switch (first) {
            case '"' -> {
                at++;
                StringBuilder literal = new StringBuilder();
                while (at < text.length() && text.charAt(at) != '"') {
                    literal.appendCodePoint(character());
                }
                expect('"');
                return new Pattern.Text(literal.toString());
            }
            case '[' -> {
                return characterClass();
            }
            case '.' -> {
                at++;
                return new Pattern.Characters(CodePointSet.ALL);
            }
            case '(' -> {
                at++;
                Pattern group = choice(true);
                space(true);
                expect(')');
                return group;
            }
            default -> {
                return new Pattern.Rule(name());
            }
        }
    }

    private Pattern characterClass() {
        at++;
        boolean negated = at < text.length() && text.charAt(at) == '^';
        at += negated ? 1 : 0;
        List<CodePointSet> members = new ArrayList<>();
        while (at < text.length() && text.charAt(at) != ']') {
            int low = character();
            int high = low;
            if (text.startsWith("-", at) && !text.startsWith("-]", at)) {
                at++;
                high = character();
            }
            if (high < low) {
                throw wrong("a range is out of order");
            }
            members.add(CodePointSet.range(low, high));
        }
        expect(']');
        CodePointSet set = CodePointSet.union(members);
        return new Pattern.Characters(negated ? set.complement() : set);
    }

    /** A character or an escape, inside a literal or a class. */
    private int character() {
        if (at >= text.length()) {
            throw wrong("the grammar ends inside a literal or class");
        }
        int point = text.codePointAt(at);
        at += Character.charCount(point);
        if (point != '\\' || at >= text.length()) {
            return point;
        }
        char escape = text.charAt(at++);
        return switch (escape) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case 'r' -> '\r';
            case 'x' -> hexadecimal(2);
            case 'u' -> hexadecimal(4);
            case 'U' -> hexadecimal(8);
            default -> escape;
        };
    }

    private int hexadecimal(int digits) {
        try {
            int value = Integer.parseInt(text, at, at + digits, 16);
            at += digits;
            if (Character.isValidCodePoint(value)) {
                return value;
            }
        } catch (NumberFormatException | IndexOutOfBoundsException error) {
            throw wrong("an escape needs " + digits + " hexadecimal digits");
        }
        throw wrong("an escape is no character");
    }

    private Pattern repeated(Pattern atom) {
        Pattern value = atom;
        for (int count = 0; at < text.length(); count++) {
            if (count > MOST_SUFFIXES) {
                throw wrong("more than " + MOST_SUFFIXES + " repetitions of one thing");
            }
            char sign = text.charAt(at);
            if (sign == '*') {
                value = Pattern.repeated(value, 0, -1);
            } else if (sign == '+') {
                value = Pattern.repeated(value, 1, -1);
            } else if (sign == '?') {
                value = Pattern.repeated(value, 0, 1);
            } else if (sign == '{') {
                value = counted(value);
                continue;
            } else {
                break;
            }
            at++;
        }
        return value;
    }

    private Pattern counted(Pattern value) {
        at++;
        int least = text.startsWith(",", at) ? 0 : number();
        int most = least;
        if (text.startsWith(",", at)) {
            at++;
            most = text.startsWith("}", at) ? -1 : number();
        }
        expect('}');
        if (most >= 0 && most < least) {
            throw wrong("a repetition has a smaller maximum than minimum");
        }
        return Pattern.repeated(value, least, most);
    }

    private int number() {
        int value = 0;
        int start = at;
        while (at < text.length() && Character.isDigit(text.charAt(at))) {
            value = value * 10 + Character.digit(text.charAt(at++), 10);
            if (value > MOST_REPEATS) {
                throw wrong("more than " + MOST_REPEATS + " repetitions");
            }
        }
        if (start == at) {
            throw wrong("a repetition needs a number");
        }
        return value;
    }

    private String name() {
        int start = at;
        while (at < text.length()
                && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '-' || text.charAt(at) == '_')) {
            at++;
        }
        if (start == at) {
            throw wrong(
                    at < text.length()
                            ? "unexpected '" + text.charAt(at) + "'"
                            : "the grammar ends where a rule's name should be");
        }
        return text.substring(start, at);
    }

    private void expect(char wanted) {
        if (at >= text.length() || text.charAt(at) != wanted) {
            throw wrong("expected '" + wanted + "'");
        }
        at++;
    }

    private void space(boolean lines) {
        while (at < text.length()) {
            char unit = text.charAt(at);
            if (unit == '#') {
                while (at < text.length() && text.charAt(at) != '\n') {
                    at++;
                }
            } else if (unit == ' ' || unit == '\t' || lines && (unit == '\n' || unit == '\r')) {
                at++;
            } else {
                return;
            }
        }
    }

    private GrammarException wrong(String what) {
        long line = text.substring(0, Math.min(at, text.length()))
                        .chars()
                        .filter(unit -> unit == '\n')
                        .count()
                + 1;
        return new GrammarException("grammar, line " + line + ": " + what);
    }
}
