package dev.strata.chat.template;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Python's two ways of formatting strings, as far as templates use them. */
final class Formats {
    private Formats() {}

    /** {@code "%s of %d" % (a, b)}, with flags, width and precision. */
    static String percent(String format, Object argument, Budget budget) {
        List<?> values = argument instanceof Values.Tuple tuple ? tuple : List.of(argument);
        StringBuilder out = new StringBuilder();
        int next = 0;
        int at = 0;
        while (at < format.length()) {
            char unit = format.charAt(at++);
            if (unit != '%') {
                out.append(unit);
                continue;
            }
            if (format.startsWith("%", at)) {
                out.append('%');
                at++;
                continue;
            }
            Object value = None.NONE;
            boolean named = format.startsWith("(", at) && argument instanceof Map<?, ?>;
            if (named) {
                int close = format.indexOf(')', at);
                if (close < 0) {
                    throw new TemplateException("incomplete format key in '" + format + "'");
                }
                Object found = ((Map<?, ?>) argument).get(format.substring(at + 1, close));
                value = found == null ? None.NONE : found;
                at = close + 1;
            }
            int start = at;
            while (at < format.length() && "-+ #0123456789.".indexOf(format.charAt(at)) >= 0) {
                at++;
            }
            if (at >= format.length()) {
                throw new TemplateException("incomplete format in '" + format + "'");
            }
            if (!named) {
                if (next >= values.size()) {
                    throw new TemplateException("not enough arguments for format string '" + format + "'");
                }
                value = values.get(next++);
            }
            out.append(directive(format.substring(start, at), format.charAt(at), value));
            at++;
            budget.text(out.length());
        }
        return out.toString();
    }

    private static String directive(String flags, char kind, Object value) {
        if (flags.length() > 6) {
            throw new TemplateException("the width in %" + flags + kind + " is too large");
        }
        String flagsOfPrecision = flags.replaceAll("\\..*", "");
        return switch (kind) {
            case 's' -> String.format(Locale.ROOT, "%" + flags.replace("0", "") + "s", PythonText.string(value));
            case 'r' -> String.format(Locale.ROOT, "%" + flags + "s", PythonText.representation(value));
            case 'd', 'i' ->
                String.format(
                        Locale.ROOT,
                        "%" + flagsOfPrecision + "d",
                        value instanceof Double real
                                ? (Object) real.longValue()
                                : (Object) Values.integer(value, "%d"));
            case 'f', 'F' -> String.format(Locale.ROOT, "%" + flags + "f", Values.real(value));
            case 'x' -> String.format(Locale.ROOT, "%" + flagsOfPrecision + "x", Values.integer(value, "%x"));
            case 'X' -> String.format(Locale.ROOT, "%" + flagsOfPrecision + "X", Values.integer(value, "%X"));
            default -> throw new TemplateException("unsupported format character '" + kind + "'");
        };
    }

    /** {@code "{} {0} {name} {x:.2f}".format(...)}: places and names, with the simplest of format specifications. */
    static String braces(String format, Arguments arguments, Budget budget) {
        StringBuilder out = new StringBuilder();
        int automatic = 0;
        int at = 0;
        while (at < format.length()) {
            char unit = format.charAt(at++);
            if ((unit == '{' || unit == '}') && at < format.length() && format.charAt(at) == unit) {
                out.append(unit);
                at++;
            } else if (unit == '{') {
                int close = format.indexOf('}', at);
                if (close < 0) {
                    throw new TemplateException("expected '}' before end of string in '" + format + "'");
                }
                String field = format.substring(at, close);
                at = close + 1;
                int colon = field.indexOf(':');
                String name = colon < 0 ? field : field.substring(0, colon);
                Object value;
                if (name.isEmpty() || name.chars().allMatch(Character::isDigit)) {
                    int index = name.isEmpty() ? automatic++ : Integer.parseInt(name);
                    value = arguments.require(index, name);
                } else {
                    value = arguments.require(Integer.MAX_VALUE, name);
                }
                out.append(colon < 0 ? PythonText.string(value) : specified(field.substring(colon + 1), value));
            } else {
                out.append(unit);
            }
            budget.text(out.length());
        }
        return out.toString();
    }

    private static String specified(String specification, Object value) {
        if (specification.isEmpty()) {
            return PythonText.string(value);
        }
        char kind = specification.charAt(specification.length() - 1);
        return Character.isLetter(kind)
                ? directive(specification.substring(0, specification.length() - 1), kind, value)
                : directive(specification, value instanceof Long ? 'd' : 's', value);
    }
}
