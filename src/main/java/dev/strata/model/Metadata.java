package dev.strata.model;

import dev.strata.format.ModelFormatException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Typed access to a model's metadata. Every complaint names the file and the key.
 *
 * @param source the file that holds the values
 * @param prefix put before every key, such as {@code qwen3moe.}
 */
record Metadata(Path source, String prefix, Map<String, Object> values) {
    boolean has(String key) {
        return values.containsKey(prefix + key) && values.get(prefix + key) != null;
    }

    /** The section {@code key}, or an empty one when it is missing. */
    Metadata section(String key) {
        Map<String, Object> section = values.get(prefix + key) instanceof Map<?, ?> map ? strings(map) : Map.of();
        return new Metadata(source, "", section);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> strings(Map<?, ?> map) {
        return (Map<String, Object>) map;
    }

    int integer(String key) {
        return find(key, Number.class).map(value -> narrow(key, value)).orElseThrow(() -> missing(key));
    }

    int integer(String key, int absent) {
        return has(key) ? integer(key) : absent;
    }

    /** A size that has to be at least 1. */
    int positive(String key) {
        int value = integer(key);
        if (value < 1) {
            throw invalid(key, value, "has to be at least 1");
        }
        return value;
    }

    int positive(String key, int absent) {
        return has(key) ? positive(key) : absent;
    }

    /** One number, or the one non-zero number that a list with an entry a layer repeats. */
    int uniform(String key) {
        if (!(values.get(prefix + key) instanceof List<?>)) {
            return positive(key);
        }
        List<Long> distinct =
                integers(key).stream().filter(v -> v != 0).distinct().toList();
        if (distinct.size() != 1) {
            throw invalid(key, integers(key), "has to be the same in all layers that have it");
        }
        return narrow(key, distinct.getFirst());
    }

    double real(String key) {
        return find(key, Number.class).map(Number::doubleValue).orElseThrow(() -> missing(key));
    }

    double real(String key, double absent) {
        return has(key) ? real(key) : absent;
    }

    boolean flag(String key, boolean absent) {
        return has(key) ? find(key, Boolean.class).orElseThrow() : absent;
    }

    String text(String key) {
        return find(key, String.class).orElseThrow(() -> missing(key));
    }

    String text(String key, String absent) {
        return has(key) ? text(key) : absent;
    }

    /** A list of integers; a single integer counts as a list of one. */
    List<Long> integers(String key) {
        Object value = values.get(prefix + key);
        if (value == null) {
            throw missing(key);
        }
        if (value instanceof Long one) {
            return List.of(one);
        }
        if (value instanceof List<?> list && list.stream().allMatch(Long.class::isInstance)) {
            return list.stream().map(Long.class::cast).toList();
        }
        throw invalid(key, value, "has to be a list of integers");
    }

    /** The values of a list as they are, empty when the key is missing. */
    List<?> list(String key) {
        return values.get(prefix + key) instanceof List<?> list ? list : List.of();
    }

    ModelFormatException missing(String key) {
        return new ModelFormatException(
                source + ": key " + prefix + key + " is missing; the model cannot be laid out without it");
    }

    ModelFormatException invalid(String key, Object value, String rule) {
        return new ModelFormatException(source + ": key " + prefix + key + " is " + value + ", but it " + rule);
    }

    private int narrow(String key, Number value) {
        if (value instanceof Double || value.longValue() != value.intValue()) {
            throw invalid(key, value, "has to be a 32-bit integer");
        }
        return value.intValue();
    }

    private <T> Optional<T> find(String key, Class<T> type) {
        Object value = values.get(prefix + key);
        if (value == null) {
            return Optional.empty();
        }
        if (!type.isInstance(value)) {
            throw invalid(key, value, "has to be a " + type.getSimpleName().toLowerCase(java.util.Locale.ROOT));
        }
        return Optional.of(type.cast(value));
    }
}
