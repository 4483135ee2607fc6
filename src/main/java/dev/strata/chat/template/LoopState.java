package dev.strata.chat.template;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The variable {@code loop} of one round. */
final class LoopState implements Callable {
    private final List<Object> elements;
    private final int depth;
    private final Callable recursion;
    private @Nullable Object lastChanged;
    private int index;

    /** @param recursion what calling {@code loop(...)} does */
    LoopState(List<Object> elements, int depth, Callable recursion) {
        this.elements = elements;
        this.depth = depth;
        this.recursion = recursion;
    }

    void at(int round) {
        index = round;
    }

    @Override
    public Object call(Arguments arguments) {
        return recursion.call(arguments);
    }

    Object attribute(String name) {
        int size = elements.size();
        return switch (name) {
            case "index" -> index + 1L;
            case "index0" -> (long) index;
            case "revindex" -> (long) size - index;
            case "revindex0" -> (long) size - index - 1;
            case "first" -> index == 0;
            case "last" -> index == size - 1;
            case "length" -> (long) size;
            case "depth" -> depth + 1L;
            case "depth0" -> (long) depth;
            case "previtem" -> index > 0 ? elements.get(index - 1) : new Undefined("there is no previous item");
            case "nextitem" -> index + 1 < size ? elements.get(index + 1) : new Undefined("there is no next item");
            case "cycle" ->
                (Callable) arguments -> arguments
                        .positional()
                        .get(index % arguments.positional().size());
            case "changed" -> (Callable) this::changed;
            default -> new Undefined("'loop' has no attribute '" + name + "'");
        };
    }

    private Object changed(Arguments arguments) {
        Object value = new Values.Tuple(arguments.positional().toArray());
        boolean changed = lastChanged == null || !Operators.equal(lastChanged, value);
        lastChanged = value;
        return changed;
    }
}
