package dev.strata.chat.template;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

/** What stands behind {@code is}. */
final class Tests {
    private static final Map<String, BiPredicate<Object, Arguments>> TESTS = new HashMap<>();

    static {
        TESTS.put("defined", (value, arguments) -> !(value instanceof Undefined));
        TESTS.put("undefined", (value, arguments) -> value instanceof Undefined);
        TESTS.put("none", (value, arguments) -> value == None.NONE);
        TESTS.put("string", (value, arguments) -> value instanceof String);
        TESTS.put("number", (value, arguments) -> Values.isNumber(value));
        TESTS.put("integer", (value, arguments) -> value instanceof Long);
        TESTS.put("float", (value, arguments) -> value instanceof Double);
        TESTS.put("boolean", (value, arguments) -> value instanceof Boolean);
        TESTS.put("true", (value, arguments) -> value.equals(true));
        TESTS.put("false", (value, arguments) -> value.equals(false));
        TESTS.put("mapping", (value, arguments) -> value instanceof Map<?, ?>);
        TESTS.put("iterable", (value, arguments) -> isIterable(value));
        // An undefined value has a length and items (none) in Jinja, so it counts as a sequence.
        TESTS.put("sequence", (value, arguments) -> isIterable(value));
        TESTS.put("callable", (value, arguments) -> value instanceof Callable);
        TESTS.put("odd", (value, arguments) -> Math.floorMod(Values.integer(value, "odd"), 2L) == 1);
        TESTS.put("even", (value, arguments) -> Math.floorMod(Values.integer(value, "even"), 2L) == 0);
        TESTS.put(
                "divisibleby",
                (value, arguments) ->
                        Operators.equal(Operators.binary("%", value, arguments.require(0, "num"), new Budget()), 0L));
        TESTS.put("lower", (value, arguments) -> isCased(PythonText.string(value), false));
        TESTS.put("upper", (value, arguments) -> isCased(PythonText.string(value), true));
        TESTS.put("sameas", (value, arguments) -> isSame(value, arguments.require(0, "other")));
        TESTS.put("in", (value, arguments) -> Operators.contains(arguments.require(0, "seq"), value));
        TESTS.put("filter", (value, arguments) -> value instanceof String name && Filters.isKnown(name));
        TESTS.put("test", (value, arguments) -> value instanceof String name && isKnown(name));
        TESTS.put("escaped", (value, arguments) -> false);
        comparison("==", "eq", "equalto", "==");
        comparison("!=", "ne", "!=");
        comparison("<", "lt", "lessthan", "<");
        comparison("<=", "le", "<=");
        comparison(">", "gt", "greaterthan", ">");
        comparison(">=", "ge", ">=");
    }

    private Tests() {}

    private static void comparison(String operator, String... names) {
        for (String name : names) {
            TESTS.put(name, (value, arguments) -> Operators.comparison(operator, value, arguments.require(0, "other")));
        }
    }

    static boolean isKnown(String name) {
        return TESTS.containsKey(name);
    }

    static boolean apply(String name, Object value, Arguments arguments) {
        BiPredicate<Object, Arguments> test = TESTS.get(name);
        if (test == null) {
            throw new TemplateException("no test is called '" + name + "'");
        }
        return test.test(value, arguments);
    }

    private static boolean isIterable(Object value) {
        return value instanceof String
                || value instanceof List<?>
                || value instanceof Map<?, ?>
                || value instanceof Undefined;
    }

    private static boolean isSame(Object left, Object right) {
        return left == right
                || left.getClass() == right.getClass()
                        && !(left instanceof List<?>)
                        && !(left instanceof Map<?, ?>)
                        && left.equals(right);
    }

    private static boolean isCased(String text, boolean upper) {
        return text.codePoints().anyMatch(Character::isLetter)
                && text.equals(
                        upper ? text.toUpperCase(java.util.Locale.ROOT) : text.toLowerCase(java.util.Locale.ROOT));
    }
}
