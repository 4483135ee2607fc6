package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** How Python's json.dumps writes values. */
final class JsonText {
    private final StringBuilder out = new StringBuilder();
    private final boolean asciiOnly;
    private final boolean sorted;
    private final String indent;
    private final String itemSeparator;
    private final String keySeparator;

    /**
     * @param indent what each level is indented by; empty: all on one line
     */
    JsonText(boolean asciiOnly, boolean sorted, String indent, String itemSeparator, String keySeparator) {
        this.asciiOnly = asciiOnly;
        this.sorted = sorted;
        this.indent = indent;
        this.itemSeparator = itemSeparator;
        this.keySeparator = keySeparator;
    }

    String write(Object value) {
        out.setLength(0);
        value(value, 0);
        return out.toString();
    }

    private void value(Object value, int depth) {
        if (depth > 100) {
            throw new TemplateException("tojson: a value is nested more than 100 deep");
        }
        switch (value) {
            case None none -> out.append("null");
            case Boolean flag -> out.append(flag.booleanValue());
            case Long number -> out.append(number);
            case Double number -> out.append(real(number));
            case String text -> string(text);
            case List<?> list -> list(list, depth);
            case Map<?, ?> map -> map(map, depth);
            case Undefined undefined -> throw undefined.error();
            default ->
                throw new TemplateException("Object of type " + Values.kind(value) + " is not JSON serializable");
        }
    }

    private static String real(double number) {
        if (Double.isNaN(number)) {
            return "NaN";
        }
        return Double.isInfinite(number) ? (number > 0 ? "Infinity" : "-Infinity") : PythonText.real(number);
    }

    private void list(List<?> list, int depth) {
        out.append('[');
        boolean first = true;
        for (Object element : list) {
            begin(first, depth + 1);
            value(element, depth + 1);
            first = false;
        }
        end(first, depth).append(']');
    }

    private void map(Map<?, ?> map, int depth) {
        List<Map.Entry<?, ?>> entries = new ArrayList<>(map.entrySet());
        if (sorted) {
            entries.sort((left, right) -> Operators.compare(left.getKey(), right.getKey()));
        }
        out.append('{');
        boolean first = true;
        for (Map.Entry<?, ?> entry : entries) {
            begin(first, depth + 1);
            string(key(entry.getKey()));
            out.append(keySeparator);
            value(entry.getValue(), depth + 1);
            first = false;
        }
        end(first, depth).append('}');
    }

    private static String key(Object key) {
        return switch (key) {
            case String text -> text;
            case None none -> "null";
            case Boolean flag -> flag.toString();
            case Double number -> real(number);
            default -> String.valueOf(key);
        };
    }

    private void begin(boolean first, int depth) {
        if (!first) {
            out.append(itemSeparator);
        }
        if (!indent.isEmpty()) {
            out.append('\n').repeat(indent, depth);
        }
    }

    private StringBuilder end(boolean empty, int depth) {
        if (!empty && !indent.isEmpty()) {
            out.append('\n').repeat(indent, depth);
        }
        return out;
    }

    private void string(String text) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            switch (unit) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                default -> {
                    // Markers of the renderer (noncharacters) stay themselves, so that they can be found again.
                    boolean marker = unit >= '\uFDD0' && unit <= '\uFDEF';
                    if (unit < 0x20 || asciiOnly && unit > 0x7E && !marker) {
                        out.append(String.format("\\u%04x", (int) unit));
                    } else {
                        out.append(unit);
                    }
                }
            }
        }
        out.append('"');
    }
}
