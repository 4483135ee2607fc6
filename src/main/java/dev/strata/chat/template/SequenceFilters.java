package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Filters on lists and dictionaries. */
final class SequenceFilters {
    private SequenceFilters() {}

    static void register(Map<String, Filters.Filter> filters) {
        filters.put("length", (value, arguments, budget) -> Values.length(value));
        filters.put("count", filters.get("length"));
        filters.put("list", (value, arguments, budget) -> new ArrayList<>(Values.elements(value)));
        filters.put(
                "items",
                (value, arguments, budget) ->
                        value instanceof Undefined ? List.of() : CollectionMethods.items(Operators.copyOfMap(value)));
        filters.put("first", (value, arguments, budget) -> end(Values.elements(value), true));
        filters.put("last", (value, arguments, budget) -> end(Values.elements(value), false));
        filters.put(
                "join",
                (value, arguments, budget) -> TextMethods.join(
                        PythonText.string(arguments.get(0, "d", "")),
                        mapped(value, arguments.get(1, "attribute", None.NONE), None.NONE, budget),
                        budget));
        filters.put(
                "reverse",
                (value, arguments, budget) -> value instanceof String text
                        ? new StringBuilder(text).reverse().toString()
                        : Values.reversed(Values.elements(value)));
        filters.put("sort", SequenceFilters::sort);
        filters.put("dictsort", SequenceFilters::dictSort);
        filters.put("unique", SequenceFilters::unique);
        filters.put("map", SequenceFilters::map);
        filters.put("select", (value, arguments, budget) -> select(value, arguments, budget, false, true));
        filters.put("reject", (value, arguments, budget) -> select(value, arguments, budget, false, false));
        filters.put("selectattr", (value, arguments, budget) -> select(value, arguments, budget, true, true));
        filters.put("rejectattr", (value, arguments, budget) -> select(value, arguments, budget, true, false));
        filters.put("sum", SequenceFilters::sum);
        filters.put("min", (value, arguments, budget) -> extreme(value, arguments, budget, -1));
        filters.put("max", (value, arguments, budget) -> extreme(value, arguments, budget, 1));
        filters.put("batch", SequenceFilters::batch);
        filters.put("slice", SequenceFilters::slice);
        filters.put("groupby", SequenceFilters::groupBy);
    }

    private static Object end(List<Object> elements, boolean first) {
        if (elements.isEmpty()) {
            return new Undefined("No " + (first ? "first" : "last") + " item, sequence was empty.");
        }
        return first ? elements.getFirst() : elements.getLast();
    }

    /** Elements, or one attribute of each; attributes may be paths with dots. */
    private static List<Object> mapped(Object value, Object attribute, Object fallback, Budget budget) {
        List<Object> elements = Values.elements(value);
        if (attribute == None.NONE) {
            return elements;
        }
        List<Object> mapped = new ArrayList<>(elements.size());
        for (Object element : elements) {
            mapped.add(path(element, attribute, fallback, budget));
        }
        return mapped;
    }

    private static Object path(Object element, Object attribute, Budget budget) {
        return path(element, attribute, None.NONE, budget);
    }

    /** @param fallback takes the place of whatever is missing on the way, unless None */
    private static Object path(Object element, Object attribute, Object fallback, Budget budget) {
        if (attribute instanceof Long) {
            return orElse(Attributes.item(element, attribute, budget), fallback);
        }
        Object value = element;
        for (String part : PythonText.string(attribute).split("\\.", -1)) {
            boolean index =
                    !part.isEmpty() && part.length() < 10 && part.chars().allMatch(Character::isDigit);
            value = orElse(Attributes.item(value, index ? (Object) Long.valueOf(part) : part, budget), fallback);
        }
        return value;
    }

    private static Object orElse(Object value, Object fallback) {
        return value instanceof Undefined && fallback != None.NONE ? fallback : value;
    }

    private static Object folded(Object value, boolean caseSensitive) {
        return !caseSensitive && value instanceof String text ? text.toLowerCase(Locale.ROOT) : value;
    }

    private static Object sort(Object value, Arguments arguments, Budget budget) {
        boolean reverse = arguments.flag(0, "reverse", false);
        boolean caseSensitive = arguments.flag(1, "case_sensitive", false);
        Object attribute = arguments.get(2, "attribute", None.NONE);
        Comparator<Object> order = (left, right) -> {
            budget.charge(1);
            return Operators.compare(
                    folded(attribute == None.NONE ? left : path(left, attribute, budget), caseSensitive),
                    folded(attribute == None.NONE ? right : path(right, attribute, budget), caseSensitive));
        };
        List<Object> sorted = new ArrayList<>(Values.elements(value));
        sorted.sort(reverse ? order.reversed() : order);
        return sorted;
    }

    private static Object dictSort(Object value, Arguments arguments, Budget budget) {
        boolean caseSensitive = arguments.flag(0, "case_sensitive", false);
        int place = arguments.text(1, "by", "key").equals("value") ? 1 : 0;
        Comparator<Object> order = (left, right) -> Operators.compare(
                folded(((List<?>) left).get(place), caseSensitive),
                folded(((List<?>) right).get(place), caseSensitive));
        List<Object> sorted = CollectionMethods.items(Operators.copyOfMap(value));
        sorted.sort(arguments.flag(2, "reverse", false) ? order.reversed() : order);
        return sorted;
    }

    private static Object unique(Object value, Arguments arguments, Budget budget) {
        boolean caseSensitive = arguments.flag(0, "case_sensitive", false);
        Object attribute = arguments.get(1, "attribute", None.NONE);
        Map<Object, Object> seen = new LinkedHashMap<>();
        for (Object element : Values.elements(value)) {
            Object key = attribute == None.NONE ? element : path(element, attribute, budget);
            seen.putIfAbsent(folded(key, caseSensitive), element);
        }
        return new ArrayList<>(seen.values());
    }

    /** {@code map(attribute='a.b', default=...)} or {@code map('filter', arguments...)}. */
    private static Object map(Object value, Arguments arguments, Budget budget) {
        if (arguments.named().containsKey("attribute")) {
            return mapped(
                    value,
                    arguments.get(Integer.MAX_VALUE, "attribute", None.NONE),
                    arguments.get(Integer.MAX_VALUE, "default", None.NONE),
                    budget);
        }
        String filter = arguments.text(0, "filter", "");
        Arguments rest = arguments.withoutFirst();
        List<Object> mapped = new ArrayList<>();
        for (Object element : Values.elements(value)) {
            mapped.add(Filters.apply(filter, element, rest, budget));
        }
        return mapped;
    }

    private static Object select(
            Object value, Arguments arguments, Budget budget, boolean byAttribute, boolean wanted) {
        int first = byAttribute ? 1 : 0;
        boolean tested = arguments.positional().size() > first;
        String test = tested ? arguments.text(first, "test", "") : "";
        List<Object> positional = arguments.positional();
        Arguments rest =
                new Arguments(tested ? positional.subList(first + 1, positional.size()) : List.of(), arguments.named());
        List<Object> selected = new ArrayList<>();
        for (Object element : Values.elements(value)) {
            budget.charge(1);
            Object subject = byAttribute ? path(element, arguments.require(0, "attribute"), budget) : element;
            if ((tested ? Tests.apply(test, subject, rest) : Values.truth(subject)) == wanted) {
                selected.add(element);
            }
        }
        return selected;
    }

    private static Object sum(Object value, Arguments arguments, Budget budget) {
        Object total = arguments.get(1, "start", 0L);
        for (Object element : mapped(value, arguments.get(0, "attribute", None.NONE), None.NONE, budget)) {
            total = Operators.binary("+", total, element, budget);
        }
        return total;
    }

    private static Object extreme(Object value, Arguments arguments, Budget budget, int direction) {
        boolean caseSensitive = arguments.flag(0, "case_sensitive", false);
        Object attribute = arguments.get(1, "attribute", None.NONE);
        Object best = new Undefined("No aggregated item, sequence was empty.");
        Object bestKey = None.NONE;
        for (Object element : Values.elements(value)) {
            Object key = folded(attribute == None.NONE ? element : path(element, attribute, budget), caseSensitive);
            if (best instanceof Undefined || Operators.compare(key, bestKey) * direction > 0) {
                best = element;
                bestKey = key;
            }
        }
        return best;
    }

    private static Object batch(Object value, Arguments arguments, Budget budget) {
        int size = (int) Math.max(1, arguments.integer(0, "linecount", 1));
        List<Object> batches = new ArrayList<>();
        List<Object> elements = Values.elements(value);
        for (int at = 0; at < elements.size(); at += size) {
            List<Object> batch = new ArrayList<>(elements.subList(at, Math.min(elements.size(), at + size)));
            while (arguments.has(1, "fill_with") && batch.size() < size) {
                budget.charge(1);
                batch.add(arguments.get(1, "fill_with", None.NONE));
            }
            batches.add(batch);
        }
        return batches;
    }

    private static Object slice(Object value, Arguments arguments, Budget budget) {
        List<Object> elements = Values.elements(value);
        int count = (int) Math.max(1, arguments.integer(0, "slices", 1));
        budget.list(count);
        int each = elements.size() / count;
        int longer = elements.size() % count;
        List<Object> slices = new ArrayList<>();
        int at = 0;
        for (int index = 0; index < count; index++) {
            int size = each + (index < longer ? 1 : 0);
            List<Object> slice = new ArrayList<>(elements.subList(at, at + size));
            if (arguments.has(1, "fill_with") && index >= longer) {
                slice.add(arguments.get(1, "fill_with", None.NONE));
            }
            slices.add(slice);
            at += size;
        }
        return slices;
    }

    private static Object groupBy(Object value, Arguments arguments, Budget budget) {
        Object attribute = arguments.require(0, "attribute");
        List<Object> sorted = new ArrayList<>(Values.elements(value));
        sorted.sort((left, right) -> Operators.compare(
                folded(path(left, attribute, budget), false), folded(path(right, attribute, budget), false)));
        List<Object> groups = new ArrayList<>();
        List<Object> group = List.of();
        Object last = None.NONE;
        for (Object element : sorted) {
            Object key = path(element, attribute, budget);
            if (group.isEmpty() || !Operators.equal(folded(key, false), folded(last, false))) {
                group = new ArrayList<>();
                groups.add(Values.tuple(key, group));
                last = key;
            }
            group.add(element);
        }
        return groups;
    }
}
