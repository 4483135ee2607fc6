package dev.strata.chat.template;

import java.util.List;
import java.util.Map;

/** Arguments of a call, with their values. */
record Arguments(List<Object> positional, Map<String, Object> named) {
    static final Arguments NONE = new Arguments(List.of(), Map.of());

    static Arguments of(Object... positional) {
        return new Arguments(List.of(positional), Map.of());
    }

    boolean has(int index, String name) {
        return index < positional.size() || named.containsKey(name);
    }

    /** The argument at a place or under a name, else {@code fallback}. */
    Object get(int index, String name, Object fallback) {
        return index < positional.size() ? positional.get(index) : named.getOrDefault(name, fallback);
    }

    Object require(int index, String name) {
        if (!has(index, name)) {
            throw new TemplateException("the argument '" + name + "' is missing");
        }
        return get(index, name, None.NONE);
    }

    String text(int index, String name, String fallback) {
        Object value = get(index, name, fallback);
        if (value instanceof String text) {
            return text;
        }
        throw new TemplateException("the argument '" + name + "' should be a string, not " + Values.kind(value));
    }

    long integer(int index, String name, long fallback) {
        Object value = get(index, name, fallback);
        return value == None.NONE ? fallback : Values.integer(value, name);
    }

    boolean flag(int index, String name, boolean fallback) {
        return Values.truth(get(index, name, fallback));
    }

    Arguments withoutFirst() {
        return new Arguments(positional.subList(1, positional.size()), named);
    }
}
