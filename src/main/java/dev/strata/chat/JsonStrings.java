package dev.strata.chat;

/** Text as JSON strings. */
public final class JsonStrings {
    private JsonStrings() {}

    /** The text in quotes, with what JSON needs escaped. */
    public static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (int at = 0; at < text.length(); at++) {
            escape(text.charAt(at), out);
        }
        return out.append('"').toString();
    }

    static void escape(char unit, StringBuilder out) {
        switch (unit) {
            case '"' -> out.append("\\\"");
            case '\\' -> out.append("\\\\");
            case '\n' -> out.append("\\n");
            case '\r' -> out.append("\\r");
            case '\t' -> out.append("\\t");
            default -> {
                if (unit < 0x20) {
                    out.append(String.format("\\u%04x", (int) unit));
                } else {
                    out.append(unit);
                }
            }
        }
    }
}
