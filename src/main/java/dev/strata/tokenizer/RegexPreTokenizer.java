package dev.strata.tokenizer;

import java.nio.CharBuffer;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Splits by regular expressions one after the other, each inside the pieces of the one before; matches and what lies between them are
 * pieces. For patterns that are too rare to have a scanner of their own.
 */
final class RegexPreTokenizer implements PreTokenizer {
    private final List<Pattern> patterns;

    RegexPreTokenizer(List<String> expressions) {
        this.patterns = expressions.stream()
                .map(expression -> Pattern.compile(javaExpression(expression), Pattern.UNICODE_CASE))
                .toList();
    }

    @Override
    public void split(char[] text, int from, int to, Pieces pieces) {
        split(0, text, from, to, pieces);
    }

    private void split(int index, char[] text, int from, int to, Pieces pieces) {
        if (index == patterns.size()) {
            pieces.piece(text, from, to);
            return;
        }
        Matcher matcher = patterns.get(index).matcher(CharBuffer.wrap(text, from, to - from));
        int start = 0;
        while (matcher.find()) {
            if (matcher.end() == matcher.start()) {
                continue;
            }
            if (matcher.start() > start) {
                split(index + 1, text, from + start, from + matcher.start(), pieces);
            }
            split(index + 1, text, from + matcher.start(), from + matcher.end(), pieces);
            start = matcher.end();
        }
        if (from + start < to) {
            split(index + 1, text, from + start, to, pieces);
        }
    }

    /** Java's {@code \s} is ASCII without a flag that would change other classes too. */
    static String javaExpression(String expression) {
        StringBuilder out = new StringBuilder();
        for (int at = 0; at < expression.length(); at++) {
            char unit = expression.charAt(at);
            if (unit == '\\' && at + 1 < expression.length()) {
                char next = expression.charAt(++at);
                if (next == 's') {
                    out.append("\\p{IsWhite_Space}");
                } else if (next == 'S') {
                    out.append("\\P{IsWhite_Space}");
                } else {
                    out.append(unit).append(next);
                }
            } else {
                out.append(unit);
            }
        }
        return out.toString();
    }
}
