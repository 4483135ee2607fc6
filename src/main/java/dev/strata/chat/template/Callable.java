package dev.strata.chat.template;

/** Something a template can call. */
@FunctionalInterface
interface Callable {
    Object call(Arguments arguments);
}
