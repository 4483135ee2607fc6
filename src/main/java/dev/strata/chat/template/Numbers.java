package dev.strata.chat.template;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** Filters that make numbers. */
final class Numbers {
    private Numbers() {}

    static Object integer(Object value, Arguments arguments) {
        Object fallback = arguments.get(0, "default", 0L);
        return switch (value) {
            case Long number -> number;
            case Boolean flag -> flag ? 1L : 0L;
            case Double number -> (long) (double) number;
            case String text -> parsed(text.strip().replace("_", ""), (int) arguments.integer(1, "base", 10), fallback);
            default -> fallback;
        };
    }

    private static Object parsed(String text, int base, Object fallback) {
        try {
            String digits = base == 16 && text.startsWith("0x") ? text.substring(2) : text;
            return Long.parseLong(digits, base);
        } catch (NumberFormatException notInteger) {
            try {
                return (long) Double.parseDouble(text);
            } catch (NumberFormatException notReal) {
                return fallback;
            }
        }
    }

    static Object real(Object value, Arguments arguments) {
        if (Values.isNumber(value)) {
            return Values.real(value);
        }
        try {
            return value instanceof String text ? Double.valueOf(text.strip()) : arguments.get(0, "default", 0.0);
        } catch (NumberFormatException error) {
            return arguments.get(0, "default", 0.0);
        }
    }

    static Object round(Object value, Arguments arguments) {
        int precision = (int) Math.clamp(arguments.integer(0, "precision", 0), -300, 300);
        RoundingMode mode = switch (arguments.text(1, "method", "common")) {
            case "ceil" -> RoundingMode.CEILING;
            case "floor" -> RoundingMode.FLOOR;
            default -> RoundingMode.HALF_EVEN;
        };
        if (!Values.isNumber(value)) {
            throw new TemplateException("round needs a number, not " + Values.kind(value));
        }
        double number = Values.real(value);
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            return number;
        }
        // Python rounds the exact binary value to even.
        return new BigDecimal(number).setScale(precision, mode).doubleValue();
    }
}
