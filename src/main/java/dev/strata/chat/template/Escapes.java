package dev.strata.chat.template;

/** Backslash escapes in string literals, as Python's unicode-escape reads them. */
final class Escapes {
    private Escapes() {}

    static String unescape(String raw) {
        if (raw.indexOf('\\') < 0) {
            return raw;
        }
        StringBuilder out = new StringBuilder();
        int at = 0;
        while (at < raw.length()) {
            char unit = raw.charAt(at);
            if (unit != '\\' || at + 1 >= raw.length()) {
                out.append(unit);
                at++;
            } else {
                at = escape(raw, at + 1, out);
            }
        }
        return out.toString();
    }

    /** Reads the escape whose letter is at {@code at}; returns where to go on. */
    private static int escape(String raw, int at, StringBuilder out) {
        char letter = raw.charAt(at);
        switch (letter) {
            case '\n' -> {}
            case '\\', '\'', '"' -> out.append(letter);
            case 'n' -> out.append('\n');
            case 't' -> out.append('\t');
            case 'r' -> out.append('\r');
            case 'b' -> out.append('\b');
            case 'f' -> out.append('\f');
            case 'a' -> out.append('\u0007');
            case 'v' -> out.append('\u000B');
            case 'x' -> {
                return hexadecimal(raw, at, 2, out);
            }
            case 'u' -> {
                return hexadecimal(raw, at, 4, out);
            }
            case 'U' -> {
                return hexadecimal(raw, at, 8, out);
            }
            case '0', '1', '2', '3', '4', '5', '6', '7' -> {
                int end = at;
                int value = 0;
                while (end < raw.length() && end < at + 3 && raw.charAt(end) >= '0' && raw.charAt(end) <= '7') {
                    value = value * 8 + raw.charAt(end++) - '0';
                }
                out.append((char) value);
                return end;
            }
            default -> out.append('\\').append(letter);
        }
        return at + 1;
    }

    private static int hexadecimal(String raw, int at, int digits, StringBuilder out) {
        int end = at + 1 + digits;
        try {
            int codePoint = Integer.parseInt(raw, at + 1, end, 16);
            if (Character.isValidCodePoint(codePoint)) {
                out.appendCodePoint(codePoint);
                return end;
            }
        } catch (NumberFormatException | IndexOutOfBoundsException error) {
            // Reported below, as one message for everything that is not a character.
        }
        throw new TemplateException("\\" + raw.charAt(at) + " in a string needs " + digits + " hexadecimal digits");
    }
}
