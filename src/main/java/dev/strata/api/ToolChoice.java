package dev.strata.api;

/** Whether tools may or must be called. */
public sealed interface ToolChoice {
    /** The model decides. */
    record Auto() implements ToolChoice {}

    record None() implements ToolChoice {}

    /** Some tool must be called. */
    record Required() implements ToolChoice {}

    record Named(String name) implements ToolChoice {}
}
