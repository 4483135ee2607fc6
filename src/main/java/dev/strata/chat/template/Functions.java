package dev.strata.chat.template;

import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Functions that every template can call. */
final class Functions {
    private Functions() {}

    /** @param now the time that strftime_now tells */
    static Map<String, Object> table(ZonedDateTime now, Budget budget) {
        Map<String, Object> functions = new LinkedHashMap<>();
        functions.put("namespace", (Callable) Functions::namespace);
        functions.put("dict", (Callable) Functions::dict);
        functions.put("range", (Callable) arguments -> range(arguments, budget));
        functions.put("raise_exception", (Callable) arguments -> {
            throw new TemplateException(PythonText.string(arguments.get(0, "message", "")), 0, true);
        });
        functions.put("strftime_now", (Callable) arguments -> TimeFormat.format(now, arguments.text(0, "format", "")));
        functions.put("joiner", (Callable) Functions::joiner);
        functions.put("cycler", (Callable) Functions::cycler);
        return functions;
    }

    private static Object namespace(Arguments arguments) {
        Namespace namespace = new Namespace();
        for (Object source : arguments.positional()) {
            Operators.copyOfMap(source)
                    .forEach((key, value) -> namespace.attributes().put(String.valueOf(key), value));
        }
        namespace.attributes().putAll(arguments.named());
        return namespace;
    }

    private static Object dict(Arguments arguments) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (Object source : arguments.positional()) {
            if (source instanceof List<?> pairs) {
                for (Object pair : pairs) {
                    List<Object> both = Values.elements(pair);
                    map.put(both.getFirst(), both.getLast());
                }
            } else {
                map.putAll(Operators.copyOfMap(source));
            }
        }
        map.putAll(arguments.named());
        return map;
    }

    private static Object range(Arguments arguments, Budget budget) {
        boolean single = arguments.positional().size() == 1;
        long start = single ? 0 : arguments.integer(0, "start", 0);
        long end = arguments.integer(single ? 0 : 1, "stop", 0);
        long step = arguments.integer(2, "step", 1);
        if (step == 0) {
            throw new TemplateException("range() arg 3 must not be zero");
        }
        long size = Math.max(0, step > 0 ? Math.ceilDiv(end - start, step) : Math.ceilDiv(start - end, -step));
        budget.list(size);
        List<Object> numbers = new ArrayList<>();
        for (long count = 0; count < size; count++) {
            numbers.add(start + count * step);
        }
        return numbers;
    }

    private static Object joiner(Arguments arguments) {
        String separator = arguments.text(0, "sep", ", ");
        boolean[] used = {false};
        return (Callable) ignored -> {
            String text = used[0] ? separator : "";
            used[0] = true;
            return text;
        };
    }

    private static Object cycler(Arguments arguments) {
        List<Object> items = arguments.positional();
        int[] at = {0};
        Map<Object, Object> cycler = new LinkedHashMap<>();
        cycler.put("next", (Callable) ignored -> items.get(at[0]++ % items.size()));
        return cycler;
    }
}
