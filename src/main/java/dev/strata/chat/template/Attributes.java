package dev.strata.chat.template;

import java.util.List;
import java.util.Map;

/** {@code object.name} and {@code object[key]}, each falling back to the other as Jinja does. */
final class Attributes {
    private Attributes() {}

    static Object attribute(Object object, String name, Budget budget) {
        switch (object) {
            case Undefined undefined -> throw undefined.error();
            case Namespace namespace -> {
                Object value = namespace.attributes().get(name);
                return value == null ? missing(object, name) : value;
            }
            case LoopState loop -> {
                return loop.attribute(name);
            }
            case Macro macro
            when name.equals("name") -> {
                return macro.name();
            }
            case String text
            when TextMethods.isKnown(name) -> {
                return TextMethods.bind(text, name, budget);
            }
            default -> {}
        }
        if (CollectionMethods.isKnown(object, name)) {
            return CollectionMethods.bind(object, name, budget);
        }
        if (object instanceof Map<?, ?> map) {
            Object value = map.get(name);
            return value == null ? missing(object, name) : value;
        }
        return missing(object, name);
    }

    private static Undefined missing(Object object, String name) {
        return new Undefined("'" + Values.kind(object) + " object' has no attribute '" + name + "'");
    }

    static Object item(Object object, Object key, Budget budget) {
        if (object instanceof Undefined undefined) {
            throw undefined.error();
        }
        if (object instanceof Map<?, ?> map) {
            Object value = map.get(key);
            if (value != null) {
                return value;
            }
        } else if (key instanceof Long || key instanceof Boolean) {
            return element(object, Values.integer(key, "index"));
        }
        if (key instanceof String name) {
            return attribute(object, name, budget);
        }
        return new Undefined("'" + Values.kind(object) + " object' has no element " + PythonText.representation(key));
    }

    private static Object element(Object object, long index) {
        Undefined missing = new Undefined(Values.kind(object) + " object has no element " + index);
        if (object instanceof String text) {
            long size = Values.length(text);
            long place = index < 0 ? index + size : index;
            if (place < 0 || place >= size) {
                return missing;
            }
            return Character.toString(text.codePointAt(text.offsetByCodePoints(0, (int) place)));
        }
        if (object instanceof List<?> list) {
            long place = index < 0 ? index + list.size() : index;
            return place < 0 || place >= list.size() ? missing : list.get((int) place);
        }
        return missing;
    }
}
