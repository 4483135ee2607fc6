package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The values of templates: {@link None}, {@link Undefined}, Boolean, Long, Double, String, {@link List} (a {@link Tuple} when it is one),
 * {@link Map} in insertion order, {@link Namespace}, {@link LoopState}, {@link Callable}.
 */
final class Values {
    private Values() {}

    /** A list that prints as a tuple and does not change. */
    static final class Tuple extends java.util.AbstractList<Object> {
        private final Object[] elements;

        Tuple(Object... elements) {
            this.elements = elements;
        }

        @Override
        public Object get(int index) {
            return elements[index];
        }

        @Override
        public int size() {
            return elements.length;
        }
    }

    /** Copies plain Java values (maps, lists, strings, numbers, booleans, null) into template values. */
    static Object of(@Nullable Object value) {
        return switch (value) {
            case null -> None.NONE;
            case Map<?, ?> map -> {
                Map<Object, Object> copy = new LinkedHashMap<>();
                map.forEach((key, element) -> copy.put(of(key), of(element)));
                yield copy;
            }
            case Tuple tuple -> tuple;
            case Iterable<?> elements -> {
                List<Object> copy = new ArrayList<>();
                elements.forEach(element -> copy.add(of(element)));
                yield copy;
            }
            case Double real -> real;
            case Float real -> real.doubleValue();
            case java.math.BigDecimal real -> real.doubleValue();
            case Number number -> number.longValue();
            case CharSequence text -> text.toString();
            default -> value;
        };
    }

    static boolean truth(Object value) {
        return switch (value) {
            case None none -> false;
            case Undefined undefined -> false;
            case Boolean flag -> flag;
            case Long number -> number != 0;
            case Double number -> number != 0;
            case String text -> !text.isEmpty();
            case List<?> list -> !list.isEmpty();
            case Map<?, ?> map -> !map.isEmpty();
            default -> true;
        };
    }

    /** Python's name of a value's type, for messages. */
    static String kind(Object value) {
        return switch (value) {
            case None none -> "None";
            case Undefined undefined -> "undefined";
            case Boolean flag -> "bool";
            case Long number -> "int";
            case Double number -> "float";
            case String text -> "str";
            case Tuple tuple -> "tuple";
            case List<?> list -> "list";
            case Map<?, ?> map -> "dict";
            case Namespace namespace -> "namespace";
            default -> "function";
        };
    }

    static long integer(Object value, String what) {
        return switch (value) {
            case Long number -> number;
            case Boolean flag -> flag ? 1 : 0;
            case Undefined undefined -> throw undefined.error();
            default -> throw new TemplateException("'" + what + "' should be an int, not " + kind(value));
        };
    }

    static boolean isNumber(Object value) {
        return value instanceof Long || value instanceof Double || value instanceof Boolean;
    }

    static double real(Object value) {
        return value instanceof Boolean flag ? (flag ? 1 : 0) : ((Number) value).doubleValue();
    }

    /** Elements of anything that can be iterated: lists, keys of maps, characters of strings; nothing for undefined. */
    @SuppressWarnings("unchecked")
    static List<Object> elements(Object value) {
        return switch (value) {
            case List<?> list -> (List<Object>) list;
            case Map<?, ?> map -> new ArrayList<>(map.keySet());
            case String text -> characters(text);
            case Undefined undefined -> List.of();
            default -> throw new TemplateException("'" + kind(value) + "' object is not iterable");
        };
    }

    static List<Object> characters(String text) {
        List<Object> characters = new ArrayList<>(text.length());
        text.codePoints().forEach(codePoint -> characters.add(Character.toString(codePoint)));
        return characters;
    }

    static long length(Object value) {
        return switch (value) {
            case String text -> text.codePointCount(0, text.length());
            case List<?> list -> list.size();
            case Map<?, ?> map -> map.size();
            case Undefined undefined -> 0;
            default -> throw new TemplateException("object of type '" + kind(value) + "' has no len()");
        };
    }

    /** A list or tuple of the same kind as {@code like}. */
    static Object sameKind(Object like, List<Object> elements) {
        return like instanceof Tuple ? new Tuple(elements.toArray()) : elements;
    }

    /** {@code value[from:to:step]} with Python's bounds. */
    static Object slice(Object value, @Nullable Long from, @Nullable Long to, @Nullable Long step) {
        boolean isText = value instanceof String;
        if (!isText && !(value instanceof List<?>)) {
            if (value instanceof Undefined undefined) {
                throw undefined.error();
            }
            throw new TemplateException("'" + kind(value) + "' object cannot be sliced");
        }
        String text = isText ? (String) value : "";
        boolean simpleText = isText && text.codePointCount(0, text.length()) == text.length();
        int size = Math.toIntExact(length(value));
        long stride = step == null ? 1 : step;
        if (stride == 0) {
            throw new TemplateException("slice step cannot be zero");
        }
        int start = bound(from, size, stride > 0 ? 0 : size - 1, stride);
        int end = bound(to, size, stride > 0 ? size : -1, stride);
        if (simpleText && stride == 1) {
            return start < end ? text.substring(start, end) : "";
        }
        List<Object> elements = elements(value);
        List<Object> picked = new ArrayList<>();
        for (long at = start; stride > 0 ? at < end : at > end; at += stride) {
            picked.add(elements.get((int) at));
        }
        if (isText) {
            StringBuilder joined = new StringBuilder();
            picked.forEach(joined::append);
            return joined.toString();
        }
        return sameKind(value, picked);
    }

    private static int bound(@Nullable Long given, int size, int fallback, long stride) {
        if (given == null) {
            return fallback;
        }
        long index = given < 0 ? given + size : given;
        long low = stride > 0 ? 0 : -1;
        long high = stride > 0 ? size : size - 1;
        return (int) Math.clamp(index, low, Math.max(low, high));
    }

    static List<Object> reversed(List<Object> elements) {
        List<Object> copy = new ArrayList<>(elements);
        Collections.reverse(copy);
        return copy;
    }

    static Object tuple(Object... elements) {
        return new Tuple(Arrays.copyOf(elements, elements.length));
    }
}
