package dev.strata.chat;

/** Decodes the inside of a JSON string, one character at a time. */
final class JsonUnquoter {
    private boolean escaped;
    private int digits = -1;
    private int value;
    private boolean failed;

    /** To be called behind the opening quote. */
    void begin() {
        escaped = false;
        digits = -1;
        failed = false;
    }

    /** Takes a character; false when it is the closing quote. */
    boolean accept(char unit, StringBuilder out) {
        if (digits >= 0) {
            int digit = Character.digit(unit, 16);
            failed |= digit < 0;
            value = value << 4 | Math.max(0, digit);
            if (--digits < 0) {
                out.append((char) value);
            }
        } else if (escaped) {
            escaped = false;
            escape(unit, out);
        } else if (unit == '\\') {
            escaped = true;
        } else if (unit == '"') {
            return false;
        } else {
            out.append(unit);
        }
        return true;
    }

    private void escape(char unit, StringBuilder out) {
        switch (unit) {
            case 'n' -> out.append('\n');
            case 't' -> out.append('\t');
            case 'r' -> out.append('\r');
            case 'b' -> out.append('\b');
            case 'f' -> out.append('\f');
            case 'u' -> {
                digits = 3;
                value = 0;
            }
            default -> out.append(unit);
        }
    }

    /** Whether an escape was malformed. */
    boolean failed() {
        return failed;
    }
}
