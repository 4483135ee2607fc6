package dev.strata.cli;

import dev.strata.chat.JsonStrings;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes maps, collections, text, numbers and truth values as JSON on one line. */
final class JsonText {
    private JsonText() {}

    static String of(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(@Nullable Object value, StringBuilder out) {
        switch (value) {
            case null -> out.append("null");
            case Map<?, ?> map -> {
                out.append('{');
                String separator = "";
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    out.append(separator);
                    out.append(JsonStrings.quoted(String.valueOf(entry.getKey())));
                    out.append(':');
                    write(entry.getValue(), out);
                    separator = ",";
                }
                out.append('}');
            }
            case Collection<?> values -> {
                out.append('[');
                String separator = "";
                for (Object each : values) {
                    out.append(separator);
                    write(each, out);
                    separator = ",";
                }
                out.append(']');
            }
            case Double number when !Double.isFinite(number) -> out.append("null");
            case Float number when !Float.isFinite(number) -> out.append("null");
            case Number number -> out.append(number);
            case Boolean truth -> out.append(truth);
            default -> out.append(JsonStrings.quoted(value.toString()));
        }
    }
}
