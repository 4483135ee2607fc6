package dev.strata.chat.template;

/** A macro with the scope it was defined in. */
record Macro(String name, Callable body) implements Callable {
    @Override
    public Object call(Arguments arguments) {
        return body.call(arguments);
    }
}
