package dev.strata.chat.template;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What stands behind {@code |}: the table of filters, and those on single values. Those on sequences are in {@link SequenceFilters}. */
final class Filters {
    /** A filter: the value in front of the bar, the arguments in parentheses. */
    @FunctionalInterface
    interface Filter {
        Object apply(Object value, Arguments arguments, Budget budget);
    }

    private static final Map<String, Filter> FILTERS = new HashMap<>();

    static {
        FILTERS.put("tojson", (value, arguments, budget) -> toJson(value, arguments));
        FILTERS.put("from_json", (value, arguments, budget) -> JsonReader.read(text(value)));
        FILTERS.put("fromjson", FILTERS.get("from_json"));
        FILTERS.put("string", (value, arguments, budget) -> PythonText.string(value));
        FILTERS.put("safe", (value, arguments, budget) -> PythonText.string(value));
        FILTERS.put(
                "trim",
                (value, arguments, budget) -> TextMethods.strip(
                        text(value), arguments.has(0, "chars") ? arguments.text(0, "chars", "") : null, true, true));
        FILTERS.put("upper", (value, arguments, budget) -> text(value).toUpperCase(Locale.ROOT));
        FILTERS.put("lower", (value, arguments, budget) -> text(value).toLowerCase(Locale.ROOT));
        FILTERS.put("capitalize", (value, arguments, budget) -> TextMethods.capitalize(text(value)));
        FILTERS.put("title", (value, arguments, budget) -> titled(text(value)));
        FILTERS.put(
                "replace",
                (value, arguments, budget) -> TextMethods.replace(
                        text(value),
                        text(arguments.require(0, "old")),
                        text(arguments.require(1, "new")),
                        arguments.integer(2, "count", -1),
                        budget));
        FILTERS.put("indent", Filters::indent);
        FILTERS.put(
                "center",
                (value, arguments, budget) -> TextMethods.bind(text(value), "center", budget)
                        .call(Arguments.of(arguments.integer(0, "width", 80))));
        FILTERS.put("wordcount", (value, arguments, budget) -> (long)
                Values.elements(TextMethods.bind(text(value), "split", budget).call(Arguments.NONE))
                        .size());
        FILTERS.put("truncate", Filters::truncate);
        FILTERS.put("escape", (value, arguments, budget) -> escape(text(value)));
        FILTERS.put("e", FILTERS.get("escape"));
        FILTERS.put("forceescape", FILTERS.get("escape"));
        FILTERS.put("urlencode", (value, arguments, budget) -> urlEncode(text(value)));
        FILTERS.put(
                "format",
                (value, arguments, budget) -> Formats.percent(
                        text(value),
                        arguments.named().isEmpty()
                                ? new Values.Tuple(arguments.positional().toArray())
                                : Values.of(arguments.named()),
                        budget));
        FILTERS.put("default", (value, arguments, budget) -> {
            boolean replaced =
                    value instanceof Undefined || arguments.flag(1, "boolean", false) && !Values.truth(value);
            return replaced ? arguments.get(0, "default_value", "") : value;
        });
        FILTERS.put("d", FILTERS.get("default"));
        FILTERS.put("int", (value, arguments, budget) -> Numbers.integer(value, arguments));
        FILTERS.put("float", (value, arguments, budget) -> Numbers.real(value, arguments));
        FILTERS.put(
                "abs",
                (value, arguments, budget) ->
                        Operators.compare(value, 0L) < 0 ? Operators.sign(true, value) : Operators.sign(false, value));
        FILTERS.put("round", (value, arguments, budget) -> Numbers.round(value, arguments));
        FILTERS.put(
                "attr",
                (value, arguments, budget) ->
                        value instanceof Map<?, ?> && !CollectionMethods.isKnown(value, arguments.text(0, "name", ""))
                                ? new Undefined("attr does not look into dictionaries")
                                : Attributes.attribute(value, arguments.text(0, "name", ""), budget));
        SequenceFilters.register(FILTERS);
    }

    private Filters() {}

    static boolean isKnown(String name) {
        return FILTERS.containsKey(name);
    }

    static Object apply(String name, Object value, Arguments arguments, Budget budget) {
        Filter filter = FILTERS.get(name);
        if (filter == null) {
            throw new TemplateException("no filter is called '" + name + "'");
        }
        Object result = filter.apply(value, arguments, budget);
        if (result instanceof String made) {
            budget.text(made.length());
        } else if (result instanceof List<?> made) {
            budget.list(made.size());
        }
        return result;
    }

    static String text(Object value) {
        return PythonText.string(value);
    }

    private static Object toJson(Object value, Arguments arguments) {
        if (value instanceof Undefined undefined) {
            throw undefined.error();
        }
        Object indent = arguments.get(1, "indent", None.NONE);
        String each = indent instanceof String given
                ? given
                : indent == None.NONE ? "" : " ".repeat((int) Math.clamp(Values.integer(indent, "indent"), 0, 64));
        String itemSeparator = each.isEmpty() ? ", " : ",";
        String keySeparator = ": ";
        if (arguments.get(2, "separators", None.NONE) instanceof List<?> separators && separators.size() == 2) {
            itemSeparator = PythonText.string(separators.get(0));
            keySeparator = PythonText.string(separators.get(1));
        }
        return new JsonText(
                        arguments.flag(0, "ensure_ascii", false),
                        arguments.flag(3, "sort_keys", false),
                        each,
                        itemSeparator,
                        keySeparator)
                .write(value);
    }

    /** Jinja's own rule: the first letter of every part between spaces and brackets is large, the others are small. */
    private static String titled(String text) {
        StringBuilder out = new StringBuilder();
        boolean begins = true;
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            out.append(begins ? Character.toUpperCase(unit) : Character.toLowerCase(unit));
            begins = TextMethods.isSpace(unit) || "-([{<".indexOf(unit) >= 0;
        }
        return out.toString();
    }

    private static Object indent(Object value, Arguments arguments, Budget budget) {
        Object width = arguments.get(0, "width", 4L);
        String indention = width instanceof String given
                ? given
                : " ".repeat((int) Math.clamp(Values.integer(width, "width"), 0, 1000));
        boolean first = arguments.flag(1, "first", false);
        boolean blank = arguments.flag(2, "blank", false);
        StringBuilder out = new StringBuilder();
        String[] lines = text(value).split("\n", -1);
        for (int index = 0; index < lines.length; index++) {
            out.append(index == 0 ? "" : "\n");
            if (index == 0 ? first : blank || !lines[index].isEmpty()) {
                out.append(indention);
            }
            out.append(lines[index]);
            budget.text(out.length() > Budget.LARGEST_TEXT ? out.length() : 0);
        }
        return out.toString();
    }

    private static Object truncate(Object value, Arguments arguments, Budget budget) {
        String text = text(value);
        int length = (int) arguments.integer(0, "length", 255);
        String end = arguments.text(2, "end", "...");
        if (text.length() <= length + arguments.integer(3, "leeway", 5)) {
            return text;
        }
        String cut = text.substring(0, Math.max(0, length - end.length()));
        int space = cut.lastIndexOf(' ');
        return (arguments.flag(1, "killwords", false) || space < 0 ? cut : cut.substring(0, space)) + end;
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("'", "&#39;")
                .replace("\"", "&#34;");
    }

    private static String urlEncode(String text) {
        StringBuilder out = new StringBuilder();
        for (byte value : text.getBytes(java.nio.charset.StandardCharsets.UTF_8)) {
            char unit = (char) (value & 0xFF);
            boolean plain = unit < 0x80 && (Character.isLetterOrDigit(unit) || "_.-~/".indexOf(unit) >= 0);
            out.append(plain ? String.valueOf(unit) : String.format("%%%02X", value & 0xFF));
        }
        return out.toString();
    }
}
