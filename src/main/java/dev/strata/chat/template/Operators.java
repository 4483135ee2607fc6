package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Python's operators. */
final class Operators {
    private Operators() {}

    static Object binary(String operator, Object left, Object right, Budget budget) {
        defined(left);
        defined(right);
        if (Values.isNumber(left) && Values.isNumber(right)) {
            return arithmetic(operator, left, right);
        }
        Object result = switch (operator) {
            case "+" -> add(left, right, budget);
            case "*" -> repeat(left, right, budget);
            case "%" -> left instanceof String format ? Formats.percent(format, right, budget) : None.NONE;
            default -> None.NONE;
        };
        if (result == None.NONE) {
            throw new TemplateException("unsupported operand types for " + operator + ": '" + Values.kind(left)
                    + "' and '" + Values.kind(right) + "'");
        }
        return result;
    }

    private static void defined(Object value) {
        if (value instanceof Undefined undefined) {
            throw undefined.error();
        }
    }

    private static Object add(Object left, Object right, Budget budget) {
        if (left instanceof String first && right instanceof String second) {
            budget.text((long) first.length() + second.length());
            return first + second;
        }
        if (left instanceof List<?> first
                && right instanceof List<?> second
                && left instanceof Values.Tuple == right instanceof Values.Tuple) {
            budget.list((long) first.size() + second.size());
            List<Object> both = new ArrayList<>(first);
            both.addAll(second);
            return Values.sameKind(left, both);
        }
        return None.NONE;
    }

    private static Object repeat(Object left, Object right, Budget budget) {
        if (left instanceof Long || left instanceof Boolean) {
            return right instanceof Long || right instanceof Boolean ? None.NONE : repeat(right, left, budget);
        }
        if (!(right instanceof Long || right instanceof Boolean)) {
            return None.NONE;
        }
        long times = Math.clamp(Values.integer(right, "*"), 0, Integer.MAX_VALUE);
        if (left instanceof String text) {
            budget.text(text.length() * times);
            return text.repeat((int) times);
        }
        if (left instanceof List<?> list) {
            budget.list(list.size() * times);
            List<Object> repeated = new ArrayList<>();
            for (long count = 0; count < times; count++) {
                repeated.addAll(list);
            }
            return Values.sameKind(left, repeated);
        }
        return None.NONE;
    }

    private static Object arithmetic(String operator, Object left, Object right) {
        if (left instanceof Double || right instanceof Double || operator.equals("/")) {
            return real(operator, Values.real(left), Values.real(right));
        }
        long a = Values.integer(left, operator);
        long b = Values.integer(right, operator);
        try {
            return switch (operator) {
                case "+" -> Math.addExact(a, b);
                case "-" -> Math.subtractExact(a, b);
                case "*" -> Math.multiplyExact(a, b);
                case "//" -> Math.floorDiv(a, b);
                case "%" -> Math.floorMod(a, b);
                case "**" -> b < 0 ? (Object) Math.pow(a, b) : (Object) power(a, b);
                default -> throw new TemplateException("no operator " + operator);
            };
        } catch (ArithmeticException error) {
            throw new TemplateException(
                    b == 0 && (operator.equals("//") || operator.equals("%"))
                            ? "division by zero"
                            : "an integer is larger than 64 bits");
        }
    }

    private static long power(long base, long exponent) {
        long result = 1;
        for (long count = 0; count < exponent; count++) {
            result = Math.multiplyExact(result, base);
            if (result == 0 || result == 1 && base == 1) {
                return result;
            }
            if (base == -1) {
                return exponent % 2 == 0 ? 1 : -1;
            }
        }
        return result;
    }

    private static Object real(String operator, double a, double b) {
        if (b == 0
                && !operator.equals("+")
                && !operator.equals("-")
                && !operator.equals("*")
                && !operator.equals("**")) {
            throw new TemplateException("division by zero");
        }
        return switch (operator) {
            case "+" -> a + b;
            case "-" -> a - b;
            case "*" -> a * b;
            case "/" -> a / b;
            case "//" -> Math.floor(a / b);
            case "%" -> {
                double rest = a % b;
                yield rest != 0 && rest < 0 != b < 0 ? rest + b : rest;
            }
            case "**" -> Math.pow(a, b);
            default -> throw new TemplateException("no operator " + operator);
        };
    }

    static Object sign(boolean minus, Object value) {
        defined(value);
        return switch (value) {
            case Long number -> minus ? Math.negateExact(number) : number;
            case Double number -> minus ? -number : number;
            case Boolean flag -> flag ? (minus ? -1L : 1L) : 0L;
            default ->
                throw new TemplateException(
                        "bad operand type for unary " + (minus ? "-" : "+") + ": '" + Values.kind(value) + "'");
        };
    }

    static boolean equal(Object left, Object right) {
        if (Values.isNumber(left) && Values.isNumber(right)) {
            return left instanceof Double || right instanceof Double
                    ? Values.real(left) == Values.real(right)
                    : Values.integer(left, "==") == Values.integer(right, "==");
        }
        if (left instanceof List<?> first && right instanceof List<?> second) {
            if (first.size() != second.size() || left instanceof Values.Tuple != right instanceof Values.Tuple) {
                return false;
            }
            for (int index = 0; index < first.size(); index++) {
                if (!equal(first.get(index), second.get(index))) {
                    return false;
                }
            }
            return true;
        }
        if (left instanceof Map<?, ?> first && right instanceof Map<?, ?> second) {
            return first.size() == second.size()
                    && first.entrySet().stream().allMatch(entry -> {
                        Object other = second.get(entry.getKey());
                        return other != null && equal(entry.getValue(), other);
                    });
        }
        if (left instanceof Undefined && right instanceof Undefined) {
            return true;
        }
        return left.equals(right);
    }

    /** Order of numbers, strings and sequences; anything else cannot be compared. */
    static int compare(Object left, Object right) {
        defined(left);
        defined(right);
        if (Values.isNumber(left) && Values.isNumber(right)) {
            return left instanceof Double || right instanceof Double
                    ? Double.compare(Values.real(left), Values.real(right))
                    : Long.compare(Values.integer(left, "<"), Values.integer(right, "<"));
        }
        if (left instanceof String first && right instanceof String second) {
            return compareText(first, second);
        }
        if (left instanceof List<?> first && right instanceof List<?> second) {
            for (int index = 0; index < Math.min(first.size(), second.size()); index++) {
                if (!equal(first.get(index), second.get(index))) {
                    return compare(first.get(index), second.get(index));
                }
            }
            return Integer.compare(first.size(), second.size());
        }
        throw new TemplateException(
                "'" + Values.kind(left) + "' and '" + Values.kind(right) + "' cannot be put in order");
    }

    /** By code points, where UTF-16 order differs. */
    private static int compareText(String left, String right) {
        int length = Math.min(left.length(), right.length());
        for (int at = 0; at < length; at++) {
            char a = left.charAt(at);
            char b = right.charAt(at);
            if (a != b) {
                boolean surrogates = Character.isSurrogate(a) != Character.isSurrogate(b);
                return surrogates ? (Character.isSurrogate(a) ? 1 : -1) : Character.compare(a, b);
            }
        }
        return Integer.compare(left.length(), right.length());
    }

    static boolean comparison(String operator, Object left, Object right) {
        return switch (operator) {
            case "==" -> equal(left, right);
            case "!=" -> !equal(left, right);
            case "in" -> contains(right, left);
            case "not in" -> !contains(right, left);
            case "<" -> compare(left, right) < 0;
            case "<=" -> compare(left, right) <= 0;
            case ">" -> compare(left, right) > 0;
            case ">=" -> compare(left, right) >= 0;
            default -> throw new TemplateException("no operator " + operator);
        };
    }

    static boolean contains(Object container, Object element) {
        return switch (container) {
            case String text -> {
                if (element instanceof String part) {
                    yield text.contains(part);
                }
                defined(element);
                throw new TemplateException(
                        "'in <string>' requires string as left operand, not " + Values.kind(element));
            }
            case Map<?, ?> map -> map.containsKey(element);
            case List<?> list -> list.stream().anyMatch(other -> equal(other, element));
            case Undefined undefined -> false;
            default -> throw new TemplateException("argument of type '" + Values.kind(container) + "' is not iterable");
        };
    }

    static Map<Object, Object> copyOfMap(Object value) {
        if (value instanceof Map<?, ?> map) {
            return new LinkedHashMap<>(map);
        }
        defined(value);
        throw new TemplateException("'" + Values.kind(value) + "' object is not a mapping");
    }
}
