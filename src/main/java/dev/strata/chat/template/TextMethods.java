package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Methods of strings. */
final class TextMethods {
    @FunctionalInterface
    private interface Method {
        Object call(String text, Arguments arguments, Budget budget);
    }

    private static final Map<String, Method> METHODS = new HashMap<>();

    static {
        METHODS.put("strip", (text, arguments, budget) -> stripGiven(text, arguments, true, true));
        METHODS.put("lstrip", (text, arguments, budget) -> stripGiven(text, arguments, true, false));
        METHODS.put("rstrip", (text, arguments, budget) -> stripGiven(text, arguments, false, true));
        METHODS.put("split", (text, arguments, budget) -> split(text, arguments, budget, false));
        METHODS.put("rsplit", (text, arguments, budget) -> split(text, arguments, budget, true));
        METHODS.put("splitlines", (text, arguments, budget) -> lines(text, arguments.flag(0, "keepends", false)));
        METHODS.put("startswith", (text, arguments, budget) -> begins(text, arguments));
        METHODS.put("endswith", (text, arguments, budget) -> ends(text, arguments));
        METHODS.put(
                "replace",
                (text, arguments, budget) -> replace(
                        text,
                        arguments.text(0, "old", ""),
                        arguments.text(1, "new", ""),
                        arguments.integer(2, "count", -1),
                        budget));
        METHODS.put("upper", (text, arguments, budget) -> text.toUpperCase(Locale.ROOT));
        METHODS.put("lower", (text, arguments, budget) -> text.toLowerCase(Locale.ROOT));
        METHODS.put(
                "casefold",
                (text, arguments, budget) -> text.toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT));
        METHODS.put("capitalize", (text, arguments, budget) -> capitalize(text));
        METHODS.put("title", (text, arguments, budget) -> title(text));
        METHODS.put("find", (text, arguments, budget) -> codePoints(text, text.indexOf(arguments.text(0, "sub", ""))));
        METHODS.put(
                "rfind", (text, arguments, budget) -> codePoints(text, text.lastIndexOf(arguments.text(0, "sub", ""))));
        METHODS.put("index", (text, arguments, budget) -> index(text, text.indexOf(arguments.text(0, "sub", ""))));
        METHODS.put("rindex", (text, arguments, budget) -> index(text, text.lastIndexOf(arguments.text(0, "sub", ""))));
        METHODS.put("count", (text, arguments, budget) -> count(text, arguments.text(0, "sub", "")));
        METHODS.put(
                "join",
                (text, arguments, budget) -> join(text, Values.elements(arguments.require(0, "iterable")), budget));
        METHODS.put("format", (text, arguments, budget) -> Formats.braces(text, arguments, budget));
        METHODS.put("isdigit", (text, arguments, budget) -> all(text, Character::isDigit));
        METHODS.put("isdecimal", (text, arguments, budget) -> all(text, Character::isDigit));
        METHODS.put("isnumeric", (text, arguments, budget) -> all(text, Character::isDigit));
        METHODS.put("isalpha", (text, arguments, budget) -> all(text, Character::isLetter));
        METHODS.put("isalnum", (text, arguments, budget) -> all(text, Character::isLetterOrDigit));
        METHODS.put("isspace", (text, arguments, budget) -> all(text, TextMethods::isSpace));
        METHODS.put("islower", (text, arguments, budget) -> Tests.apply("lower", text, arguments));
        METHODS.put("isupper", (text, arguments, budget) -> Tests.apply("upper", text, arguments));
        METHODS.put("removeprefix", (text, arguments, budget) -> {
            String prefix = arguments.text(0, "prefix", "");
            return text.startsWith(prefix) ? text.substring(prefix.length()) : text;
        });
        METHODS.put("removesuffix", (text, arguments, budget) -> {
            String suffix = arguments.text(0, "suffix", "");
            return text.endsWith(suffix) ? text.substring(0, text.length() - suffix.length()) : text;
        });
        METHODS.put("partition", (text, arguments, budget) -> partition(text, arguments, false));
        METHODS.put("rpartition", (text, arguments, budget) -> partition(text, arguments, true));
        METHODS.put("zfill", (text, arguments, budget) -> {
            int signs = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
            String zeros = padding(text, arguments, "0", budget);
            return text.substring(0, signs) + zeros + text.substring(signs);
        });
        METHODS.put(
                "ljust",
                (text, arguments, budget) ->
                        text + padding(text, arguments, arguments.text(1, "fillchar", " "), budget));
        METHODS.put(
                "rjust",
                (text, arguments, budget) ->
                        padding(text, arguments, arguments.text(1, "fillchar", " "), budget) + text);
        METHODS.put("center", (text, arguments, budget) -> {
            String fill = padding(text, arguments, arguments.text(1, "fillchar", " "), budget);
            int left = fill.length() / 2 + (fill.length() & (int) arguments.integer(0, "width", 0) & 1);
            return fill.substring(0, left) + text + fill.substring(left);
        });
    }

    private TextMethods() {}

    static boolean isKnown(String name) {
        return METHODS.containsKey(name);
    }

    static Callable bind(String text, String name, Budget budget) {
        Method method = METHODS.get(name);
        if (method == null) {
            throw new TemplateException("'str' object has no attribute '" + name + "'");
        }
        return arguments -> {
            Object result = method.call(text, arguments, budget);
            budget.text(result instanceof String made ? made.length() : 0);
            return result;
        };
    }

    /** Python's white space for str methods: Unicode White_Space and the four separators below it. */
    static boolean isSpace(int codePoint) {
        return codePoint >= 0x1C && codePoint <= 0x20
                || codePoint >= '\t' && codePoint <= '\r'
                || codePoint == 0x85
                || Character.isSpaceChar(codePoint);
    }

    private static String stripGiven(String text, Arguments arguments, boolean left, boolean right) {
        Object characters = arguments.get(0, "chars", None.NONE);
        return strip(text, characters instanceof String set ? set : null, left, right);
    }

    static String strip(
            String text, @org.jspecify.annotations.Nullable String characters, boolean left, boolean right) {
        int from = 0;
        int to = text.length();
        while (left && from < to && strips(text.codePointAt(from), characters)) {
            from += Character.charCount(text.codePointAt(from));
        }
        while (right && to > from && strips(text.codePointBefore(to), characters)) {
            to -= Character.charCount(text.codePointBefore(to));
        }
        return text.substring(from, to);
    }

    private static boolean strips(int codePoint, @org.jspecify.annotations.Nullable String characters) {
        return characters == null ? isSpace(codePoint) : characters.indexOf(codePoint) >= 0;
    }

    private static List<Object> split(String text, Arguments arguments, Budget budget, boolean fromRight) {
        Object separator = arguments.get(0, "sep", None.NONE);
        long limit = arguments.integer(1, "maxsplit", -1);
        List<Object> parts = separator instanceof String mark
                ? splitAt(text, mark, limit, fromRight)
                : splitAtSpace(text, limit, fromRight);
        budget.list(parts.size());
        budget.text(text.length());
        return parts;
    }

    private static List<Object> splitAt(String text, String mark, long limit, boolean fromRight) {
        if (mark.isEmpty()) {
            throw new TemplateException("empty separator");
        }
        List<Object> parts = new ArrayList<>();
        if (fromRight) {
            int end = text.length();
            for (int at = text.lastIndexOf(mark, end - mark.length());
                    at >= 0 && (limit < 0 || parts.size() < limit);
                    at = text.lastIndexOf(mark, end - mark.length())) {
                parts.addFirst(text.substring(at + mark.length(), end));
                end = at;
                if (end < mark.length()) {
                    break;
                }
            }
            parts.addFirst(text.substring(0, end));
            return parts;
        }
        int start = 0;
        for (int at = text.indexOf(mark);
                at >= 0 && (limit < 0 || parts.size() < limit);
                at = text.indexOf(mark, start)) {
            parts.add(text.substring(start, at));
            start = at + mark.length();
        }
        parts.add(text.substring(start));
        return parts;
    }

    private static List<Object> splitAtSpace(String text, long limit, boolean fromRight) {
        List<Object> parts = new ArrayList<>();
        String rest = strip(text, null, true, true);
        while (!rest.isEmpty()) {
            int at = fromRight ? lastSpace(rest) : firstSpace(rest);
            if (at < 0 || limit >= 0 && parts.size() >= limit) {
                String whole = strip(limit >= 0 && !fromRight ? stripLeft(text, rest) : rest, null, true, fromRight);
                parts.add(fromRight ? 0 : parts.size(), whole);
                break;
            }
            if (fromRight) {
                parts.addFirst(rest.substring(at + 1));
                rest = strip(rest.substring(0, at), null, false, true);
            } else {
                parts.add(rest.substring(0, at));
                rest = strip(rest.substring(at), null, true, false);
            }
        }
        return parts;
    }

    /** What is left of the original text from where {@code rest} begins: a limited split keeps the blanks at the end. */
    private static String stripLeft(String text, String rest) {
        int trailing = text.length() - strip(text, null, false, true).length();
        return rest + text.substring(text.length() - trailing);
    }

    private static int firstSpace(String text) {
        for (int at = 0; at < text.length(); at++) {
            if (isSpace(text.charAt(at))) {
                return at;
            }
        }
        return -1;
    }

    private static int lastSpace(String text) {
        for (int at = text.length() - 1; at >= 0; at--) {
            if (isSpace(text.charAt(at))) {
                return at;
            }
        }
        return -1;
    }

    private static List<Object> lines(String text, boolean keepEnds) {
        List<Object> lines = new ArrayList<>();
        int start = 0;
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            boolean ends = unit >= '\n' && unit <= '\r'
                    || unit >= 0x1C && unit <= 0x1E
                    || unit == 0x85
                    || unit == 0x2028
                    || unit == 0x2029;
            if (ends) {
                int next = unit == '\r' && text.startsWith("\n", at + 1) ? at + 2 : at + 1;
                lines.add(text.substring(start, keepEnds ? next : at));
                start = next;
                at = next - 1;
            }
        }
        if (start < text.length()) {
            lines.add(text.substring(start));
        }
        return lines;
    }

    private static boolean begins(String text, Arguments arguments) {
        Object prefixes = arguments.require(0, "prefix");
        String from = text.substring(Math.clamp(arguments.integer(1, "start", 0), 0, text.length()));
        return alternatives(prefixes).stream().anyMatch(prefix -> from.startsWith((String) prefix));
    }

    private static boolean ends(String text, Arguments arguments) {
        return alternatives(arguments.require(0, "suffix")).stream().anyMatch(suffix -> text.endsWith((String) suffix));
    }

    private static List<Object> alternatives(Object value) {
        List<Object> all = value instanceof Values.Tuple tuple ? tuple : List.of(value);
        for (Object one : all) {
            if (!(one instanceof String)) {
                throw new TemplateException(
                        "startswith and endswith need a str or a tuple of str, not " + Values.kind(one));
            }
        }
        return all;
    }

    static String replace(String text, String old, String replacement, long count, Budget budget) {
        if (count < 0 && !old.isEmpty()) {
            long found = replacement.length() > old.length() ? count(text, old) : 0;
            budget.text(text.length() + found * (replacement.length() - old.length()));
            return text.replace(old, replacement);
        }
        StringBuilder out = new StringBuilder();
        int at = 0;
        long left = count < 0 ? Long.MAX_VALUE : count;
        while (left > 0) {
            int found = text.indexOf(old, old.isEmpty() ? at : at);
            if (found < 0) {
                break;
            }
            out.append(text, at, found).append(replacement);
            left--;
            at = found + old.length();
            if (old.isEmpty()) {
                if (at >= text.length()) {
                    break;
                }
                out.append(text.charAt(at++));
            }
            budget.text(out.length());
        }
        return out.append(text, Math.min(at, text.length()), text.length()).toString();
    }

    private static long count(String text, String part) {
        if (part.isEmpty()) {
            return text.codePointCount(0, text.length()) + 1L;
        }
        long count = 0;
        for (int at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length())) {
            count++;
        }
        return count;
    }

    static String capitalize(String text) {
        if (text.isEmpty()) {
            return text;
        }
        int first = Character.charCount(text.codePointAt(0));
        return text.substring(0, first).toUpperCase(Locale.ROOT)
                + text.substring(first).toLowerCase(Locale.ROOT);
    }

    static String title(String text) {
        StringBuilder out = new StringBuilder();
        boolean inWord = false;
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            out.append(inWord ? Character.toLowerCase(unit) : Character.toTitleCase(unit));
            inWord = Character.isLetter(unit);
        }
        return out.toString();
    }

    private static long codePoints(String text, int index) {
        return index < 0 ? -1 : text.codePointCount(0, index);
    }

    private static long index(String text, int index) {
        if (index < 0) {
            throw new TemplateException("substring not found");
        }
        return codePoints(text, index);
    }

    static String join(String separator, List<Object> parts, Budget budget) {
        StringBuilder out = new StringBuilder();
        for (int index = 0; index < parts.size(); index++) {
            out.append(index == 0 ? "" : separator).append(PythonText.string(parts.get(index)));
            budget.text(out.length() > Budget.LARGEST_TEXT ? out.length() : 0);
        }
        return out.toString();
    }

    private static boolean all(String text, java.util.function.IntPredicate predicate) {
        return !text.isEmpty() && text.codePoints().allMatch(predicate);
    }

    private static Object partition(String text, Arguments arguments, boolean last) {
        String mark = arguments.text(0, "sep", "");
        int at = last ? text.lastIndexOf(mark) : text.indexOf(mark);
        if (at < 0) {
            return last ? Values.tuple("", "", text) : Values.tuple(text, "", "");
        }
        return Values.tuple(text.substring(0, at), mark, text.substring(at + mark.length()));
    }

    private static String padding(String text, Arguments arguments, String fill, Budget budget) {
        long missing = arguments.integer(0, "width", 0) - text.codePointCount(0, text.length());
        budget.text(Math.max(0, missing));
        return fill.repeat((int) Math.max(0, missing));
    }
}
