package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Methods of lists, tuples and dictionaries. */
final class CollectionMethods {
    private static final Set<String> OF_MAPS =
            Set.of("items", "keys", "values", "get", "pop", "update", "setdefault", "copy", "clear");
    private static final Set<String> OF_LISTS =
            Set.of("append", "extend", "insert", "pop", "remove", "index", "count", "reverse", "copy", "clear", "sort");
    private static final Set<String> OF_TUPLES = Set.of("index", "count");

    private CollectionMethods() {}

    static boolean isKnown(Object object, String name) {
        return switch (object) {
            case Map<?, ?> map -> OF_MAPS.contains(name);
            case Values.Tuple tuple -> OF_TUPLES.contains(name);
            case List<?> list -> OF_LISTS.contains(name);
            default -> false;
        };
    }

    @SuppressWarnings("unchecked")
    static Callable bind(Object object, String name, Budget budget) {
        return object instanceof Map<?, ?>
                ? arguments -> ofMap((Map<Object, Object>) object, name, arguments)
                : arguments -> ofList((List<Object>) object, name, arguments, budget);
    }

    private static Object ofMap(Map<Object, Object> map, String name, Arguments arguments) {
        return switch (name) {
            case "items" -> items(map);
            case "keys" -> new ArrayList<>(map.keySet());
            case "values" -> new ArrayList<>(map.values());
            case "get" -> map.getOrDefault(arguments.require(0, "key"), arguments.get(1, "default", None.NONE));
            case "setdefault" -> {
                Object fallback = arguments.get(1, "default", None.NONE);
                Object old = map.putIfAbsent(arguments.require(0, "key"), fallback);
                yield old == null ? fallback : old;
            }
            case "pop" -> {
                Object key = arguments.require(0, "key");
                Object removed = map.remove(key);
                if (removed == null && !arguments.has(1, "default")) {
                    throw new TemplateException("no key " + PythonText.representation(key));
                }
                yield removed == null ? arguments.get(1, "default", None.NONE) : removed;
            }
            case "update" -> {
                if (!arguments.positional().isEmpty()) {
                    map.putAll(Operators.copyOfMap(arguments.positional().getFirst()));
                }
                map.putAll(arguments.named());
                yield None.NONE;
            }
            case "copy" -> Operators.copyOfMap(map);
            default -> {
                map.clear();
                yield None.NONE;
            }
        };
    }

    /** Pairs of key and value. */
    static List<Object> items(Map<?, ?> map) {
        List<Object> items = new ArrayList<>(map.size());
        map.forEach((key, value) -> items.add(Values.tuple(key, value)));
        return items;
    }

    private static Object ofList(List<Object> list, String name, Arguments arguments, Budget budget) {
        switch (name) {
            case "append" -> {
                budget.charge(1);
                list.add(arguments.require(0, "object"));
            }
            case "extend" -> {
                List<Object> more = new ArrayList<>(Values.elements(arguments.require(0, "iterable")));
                budget.list((long) list.size() + more.size());
                list.addAll(more);
            }
            case "insert" -> {
                long index = arguments.integer(0, "index", 0);
                long place = index < 0 ? index + list.size() : index;
                list.add((int) Math.clamp(place, 0L, (long) list.size()), arguments.require(1, "object"));
            }
            case "pop" -> {
                long index = arguments.integer(0, "index", -1);
                long place = index < 0 ? index + list.size() : index;
                if (place < 0 || place >= list.size()) {
                    throw new TemplateException("pop from an empty list, or index out of range");
                }
                return list.remove((int) place);
            }
            case "remove" -> list.remove(indexOf(list, arguments.require(0, "value")));
            case "index" -> {
                return (long) indexOf(list, arguments.require(0, "value"));
            }
            case "count" -> {
                Object wanted = arguments.require(0, "value");
                return list.stream()
                        .filter(element -> Operators.equal(element, wanted))
                        .count();
            }
            case "reverse" -> java.util.Collections.reverse(list);
            case "sort" -> {
                list.sort(Operators::compare);
                if (arguments.flag(Integer.MAX_VALUE, "reverse", false)) {
                    java.util.Collections.reverse(list);
                }
            }
            case "copy" -> {
                return new ArrayList<>(list);
            }
            default -> list.clear();
        }
        return None.NONE;
    }

    private static int indexOf(List<Object> list, Object value) {
        for (int index = 0; index < list.size(); index++) {
            if (Operators.equal(list.get(index), value)) {
                return index;
            }
        }
        throw new TemplateException(PythonText.representation(value) + " is not in list");
    }
}
