package dev.strata.chat.template;

import java.util.List;
import java.util.Map;

/** How Python writes values: str() and repr(). */
final class PythonText {
    private PythonText() {}

    static String string(Object value) {
        return switch (value) {
            case String text -> text;
            case Undefined undefined -> "";
            default -> {
                StringBuilder out = new StringBuilder();
                representation(value, out, 0);
                yield out.toString();
            }
        };
    }

    static String representation(Object value) {
        StringBuilder out = new StringBuilder();
        representation(value, out, 0);
        return out.toString();
    }

    private static void representation(Object value, StringBuilder out, int depth) {
        if (depth > 100) {
            throw new TemplateException("a value is nested more than 100 deep");
        }
        switch (value) {
            case None none -> out.append("None");
            case Undefined undefined -> out.append("Undefined");
            case Boolean flag -> out.append(flag ? "True" : "False");
            case Long number -> out.append(number);
            case Double number -> out.append(real(number));
            case String text -> quoted(text, out);
            case Values.Tuple tuple -> {
                sequence(tuple, out.append('('), depth);
                out.append(tuple.size() == 1 ? ",)" : ")");
            }
            case List<?> list -> {
                sequence(list, out.append('['), depth);
                out.append(']');
            }
            case Map<?, ?> map -> mapping(map, out, depth);
            case Namespace namespace -> {
                out.append("<Namespace ");
                mapping(namespace.attributes(), out, depth);
                out.append('>');
            }
            case Macro macro -> out.append("<Macro '").append(macro.name()).append("'>");
            default -> out.append("<").append(Values.kind(value)).append(">");
        }
    }

    private static void sequence(List<?> list, StringBuilder out, int depth) {
        String separator = "";
        for (Object element : list) {
            representation(element, out.append(separator), depth + 1);
            separator = ", ";
        }
    }

    private static void mapping(Map<?, ?> map, StringBuilder out, int depth) {
        out.append('{');
        String separator = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            representation(entry.getKey(), out.append(separator), depth + 1);
            representation(entry.getValue(), out.append(": "), depth + 1);
            separator = ", ";
        }
        out.append('}');
    }

    private static void quoted(String text, StringBuilder out) {
        char quote = text.indexOf('\'') >= 0 && text.indexOf('"') < 0 ? '"' : '\'';
        out.append(quote);
        text.codePoints().forEach(codePoint -> {
            switch (codePoint) {
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (codePoint == quote) {
                        out.append('\\').append(quote);
                    } else if (isPrintable(codePoint)) {
                        out.appendCodePoint(codePoint);
                    } else {
                        out.append(
                                codePoint < 0x100
                                        ? String.format("\\x%02x", codePoint)
                                        : codePoint < 0x10000
                                                ? String.format("\\u%04x", codePoint)
                                                : String.format("\\U%08x", codePoint));
                    }
                }
            }
        });
        out.append(quote);
    }

    private static boolean isPrintable(int codePoint) {
        return codePoint == ' '
                || switch (Character.getType(codePoint)) {
                    case Character.CONTROL,
                            Character.FORMAT,
                            Character.SURROGATE,
                            Character.PRIVATE_USE,
                            Character.UNASSIGNED,
                            Character.LINE_SEPARATOR,
                            Character.PARAGRAPH_SEPARATOR,
                            Character.SPACE_SEPARATOR -> false;
                    default -> true;
                };
    }

    /** The shortest digits that mean the same number, with an exponent below 1e-4 and from 1e16 on. */
    static String real(double number) {
        if (Double.isNaN(number)) {
            return "nan";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "inf" : "-inf";
        }
        if (number == 0) {
            return 1 / number < 0 ? "-0.0" : "0.0";
        }
        java.math.BigDecimal exact = new java.math.BigDecimal(Double.toString(number)).stripTrailingZeros();
        String digits = exact.unscaledValue().abs().toString();
        int exponent = digits.length() - exact.scale() - 1;
        String sign = number < 0 ? "-" : "";
        if (exponent < -4 || exponent >= 16) {
            String mantissa = digits.length() == 1 ? digits : digits.charAt(0) + "." + digits.substring(1);
            return sign
                    + mantissa
                    + (exponent < 0 ? "e-" : "e+")
                    + (Math.abs(exponent) < 10 ? "0" : "")
                    + Math.abs(exponent);
        }
        String plain = exact.abs().toPlainString();
        return sign + (plain.indexOf('.') < 0 ? plain + ".0" : plain);
    }
}
