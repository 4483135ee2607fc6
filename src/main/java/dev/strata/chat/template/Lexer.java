package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts a template into text and the tokens of its tags, with trim_blocks (the line break behind a block tag goes) and lstrip_blocks (blanks
 * between the start of the line and a block tag go).
 */
final class Lexer {
    private static final List<String> OPERATORS = List.of(
            "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<",
            "=", ".", ":", "|", ",", ";");

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int at;
    private int line = 1;
    /** Whether the text so far ends a line, as far as whitespace control goes. */
    private boolean lineStarting = true;

    Lexer(String source) {
        String text = source.replace("\r\n", "\n").replace('\r', '\n');
        this.source = text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
    }

    List<Token> tokens() {
        while (at < source.length()) {
            int tag = nextTag(at);
            if (tag < 0) {
                data(source.substring(at));
                break;
            }
            tag(tag);
        }
        tokens.add(new Token(Token.Kind.END, "", line));
        return tokens;
    }

    private int nextTag(int from) {
        for (int index = source.indexOf('{', from); index >= 0; index = source.indexOf('{', index + 1)) {
            if (index + 1 < source.length() && "{%#".indexOf(source.charAt(index + 1)) >= 0) {
                return index;
            }
        }
        return -1;
    }

    private void tag(int tag) {
        char kind = source.charAt(tag + 1);
        char sign = tag + 2 < source.length() ? source.charAt(tag + 2) : ' ';
        String text = source.substring(at, tag);
        if (sign == '-') {
            data(text.stripTrailing());
            skipLines(text.substring(text.stripTrailing().length()));
        } else if (kind != '{' && sign != '+') {
            int lineStart = text.lastIndexOf('\n') + 1;
            boolean strip = (lineStart > 0 || lineStarting) && isBlank(text, lineStart);
            data(strip ? text.substring(0, lineStart) : text);
        } else {
            data(text);
        }
        at = tag + 2 + (sign == '-' || sign == '+' ? 1 : 0);
        switch (kind) {
            case '#' -> comment();
            case '%' -> block();
            default -> {
                tokens.add(new Token(Token.Kind.PRINT_BEGIN, "{{", line));
                inside("}}", Token.Kind.PRINT_END);
            }
        }
    }

    private static boolean isBlank(String text, int from) {
        for (int index = from; index < text.length(); index++) {
            if (text.charAt(index) != ' ' && text.charAt(index) != '\t') {
                return false;
            }
        }
        return true;
    }

    private void data(String text) {
        if (!text.isEmpty()) {
            tokens.add(new Token(Token.Kind.DATA, text, line));
            skipLines(text);
        }
    }

    private void skipLines(String text) {
        for (int index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) {
            line++;
        }
    }

    private void comment() {
        int end = source.indexOf("#}", at);
        if (end < 0) {
            throw wrong("a comment '{#' is never closed by '#}'");
        }
        skipLines(source.substring(at, end));
        char sign = end > at ? source.charAt(end - 1) : ' ';
        at = end + 2;
        afterTag(sign, true);
    }

    private void block() {
        int name = skipBlanks(at);
        if (source.startsWith("raw", name)) {
            int close = skipBlanks(name + 3);
            boolean dash = source.startsWith("-%}", close);
            if (dash || source.startsWith("%}", close)) {
                raw(close + (dash ? 3 : 2), dash ? '-' : ' ');
                return;
            }
        }
        tokens.add(new Token(Token.Kind.BLOCK_BEGIN, "{%", line));
        inside("%}", Token.Kind.BLOCK_END);
    }

    private int skipBlanks(int from) {
        int index = from;
        while (index < source.length() && Character.isWhitespace(source.charAt(index))) {
            index++;
        }
        return index;
    }

    private void raw(int start, char sign) {
        at = start;
        afterTag(sign, true);
        for (int tag = source.indexOf("{%", at); tag >= 0; tag = source.indexOf("{%", tag + 2)) {
            int name = tag + 2;
            boolean stripBefore = name < source.length() && source.charAt(name) == '-';
            name = skipBlanks(stripBefore ? name + 1 : name);
            int close = source.startsWith("endraw", name) ? skipBlanks(name + 6) : -1;
            if (close < 0) {
                continue;
            }
            boolean stripAfter = source.startsWith("-%}", close);
            if (stripAfter || source.startsWith("%}", close)) {
                String text = source.substring(at, tag);
                data(stripBefore ? text.stripTrailing() : text);
                at = close + (stripAfter ? 3 : 2);
                afterTag(stripAfter ? '-' : ' ', true);
                return;
            }
        }
        throw wrong("'{% raw %}' is never closed by '{% endraw %}'");
    }

    /** Whitespace behind a tag. */
    private void afterTag(char sign, boolean trims) {
        int start = at;
        if (sign == '-') {
            at = skipBlanks(at);
        } else if (trims && sign != '+' && source.startsWith("\n", at)) {
            at++;
        }
        String skipped = source.substring(start, at);
        skipLines(skipped);
        lineStarting = skipped.endsWith("\n");
    }

    /** Tokens of an expression or a block, to its closing mark. */
    private void inside(String close, Token.Kind closeKind) {
        int opened = line;
        int depth = 0;
        while (true) {
            int start = at;
            at = skipBlanks(at);
            skipLines(source.substring(start, at));
            if (at >= source.length()) {
                line = opened;
                throw wrong("a tag '" + (close.equals("}}") ? "{{" : "{%") + "' is never closed by '" + close + "'");
            }
            char first = source.charAt(at);
            if (depth == 0) {
                char sign = first == '-' || first == '+' && closeKind == Token.Kind.BLOCK_END ? first : ' ';
                if (source.startsWith(close, sign == ' ' ? at : at + 1)) {
                    tokens.add(new Token(closeKind, close, line));
                    at += sign == ' ' ? 2 : 3;
                    afterTag(sign, closeKind == Token.Kind.BLOCK_END);
                    return;
                }
            }
            if (first == '"' || first == '\'') {
                string(first);
            } else if (first >= '0' && first <= '9') {
                number();
            } else if (Character.isUnicodeIdentifierStart(first) || first == '_') {
                int end = at + 1;
                while (end < source.length() && Character.isUnicodeIdentifierPart(source.charAt(end))) {
                    end++;
                }
                tokens.add(new Token(Token.Kind.NAME, source.substring(at, end), line));
                at = end;
            } else {
                depth += operator();
            }
        }
    }

    /** Returns how the nesting of brackets changes. */
    private int operator() {
        for (String operator : OPERATORS) {
            if (source.startsWith(operator, at)) {
                tokens.add(new Token(Token.Kind.OPERATOR, operator, line));
                at += operator.length();
                return switch (operator) {
                    case "(", "[", "{" -> 1;
                    case ")", "]", "}" -> -1;
                    default -> 0;
                };
            }
        }
        throw wrong("unexpected character '" + Character.toString(source.codePointAt(at)) + "'");
    }

    private void number() {
        int end = at;
        int base = 10;
        if (source.startsWith("0x", at) || source.startsWith("0X", at)) {
            base = 16;
        } else if (source.startsWith("0b", at) || source.startsWith("0B", at)) {
            base = 2;
        } else if (source.startsWith("0o", at) || source.startsWith("0O", at)) {
            base = 8;
        }
        int digits = base == 10 ? at : at + 2;
        end = digitsEnd(digits, base);
        boolean real = false;
        if (base == 10) {
            if (end + 1 < source.length() && source.charAt(end) == '.' && isDigit(source.charAt(end + 1))) {
                real = true;
                end = digitsEnd(end + 1, 10);
            }
            if (end < source.length() && (source.charAt(end) == 'e' || source.charAt(end) == 'E')) {
                int power = end + 1;
                if (power < source.length() && (source.charAt(power) == '+' || source.charAt(power) == '-')) {
                    power++;
                }
                if (power < source.length() && isDigit(source.charAt(power))) {
                    real = true;
                    end = digitsEnd(power, 10);
                }
            }
        }
        String text = source.substring(digits, end).replace("_", "");
        try {
            Object value = real ? (Object) Double.valueOf(text) : (Object) Long.valueOf(text, base);
            tokens.add(new Token(Token.Kind.NUMBER, value, line));
        } catch (NumberFormatException error) {
            throw wrong("the number " + source.substring(at, end) + " is too large or malformed");
        }
        at = end;
    }

    private int digitsEnd(int from, int base) {
        int end = from;
        while (end < source.length()
                && (Character.digit(source.charAt(end), base) >= 0 || source.charAt(end) == '_' && end > from)) {
            end++;
        }
        return end;
    }

    private static boolean isDigit(char unit) {
        return unit >= '0' && unit <= '9';
    }

    private void string(char quote) {
        int end = at + 1;
        while (end < source.length() && source.charAt(end) != quote) {
            end += source.charAt(end) == '\\' ? 2 : 1;
        }
        if (end >= source.length()) {
            throw wrong("a string that begins with " + quote + " is never closed");
        }
        String raw = source.substring(at + 1, end);
        try {
            tokens.add(new Token(Token.Kind.STRING, Escapes.unescape(raw), line));
        } catch (TemplateException error) {
            throw error.at("template", line);
        }
        skipLines(raw);
        at = end + 1;
    }

    private TemplateException wrong(String what) {
        return new TemplateException(what).at("template", line);
    }
}
