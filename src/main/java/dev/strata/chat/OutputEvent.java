package dev.strata.chat;

/** A piece of a parsed answer. Pieces of one kind in a row belong together. */
public sealed interface OutputEvent {
    /** Visible text. */
    record Content(String text) implements OutputEvent {}

    /** Text of the reasoning block. */
    record Reasoning(String text) implements OutputEvent {}

    /** A call begins; {@code index} counts the calls of the answer from 0. */
    record CallStart(int index, String id, String name) implements OutputEvent {}

    /** More of the JSON text of the arguments of call {@code index}. */
    record CallArguments(int index, String fragment) implements OutputEvent {}
}
