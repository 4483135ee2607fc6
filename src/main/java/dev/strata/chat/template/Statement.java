package dev.strata.chat.template;

import java.util.List;
import java.util.Optional;

/** Statements of a template, each with its line. */
sealed interface Statement {
    int line();

    record Text(String text, int line) implements Statement {}

    record Print(Expression expression, int line) implements Statement {}

    /** Evaluates for effect. */
    record Do(Expression expression, int line) implements Statement {}

    /** One branch per condition; the last condition may be absent (else). */
    record If(List<Branch> branches, int line) implements Statement {}

    record Branch(Optional<Expression> condition, List<Statement> body) {}

    record For(
            Target target,
            Expression source,
            Optional<Expression> condition,
            List<Statement> body,
            List<Statement> otherwise,
            boolean recursive,
            int line)
            implements Statement {}

    record Set(Target target, Expression value, int line) implements Statement {}

    /** The rendered body, through filters applied to {@code value}, a name that stands for it. */
    record SetBlock(Target target, Expression value, List<Statement> body, int line) implements Statement {}

    record FilterBlock(Expression value, List<Statement> body, int line) implements Statement {}

    record With(List<Target> targets, List<Expression> values, List<Statement> body, int line) implements Statement {}

    record MacroDefinition(
            String name, List<String> parameters, List<Expression> defaults, List<Statement> body, int line)
            implements Statement {}

    /** {@code {% call(parameters) function(...) %}}: the body becomes the macro's caller(). */
    record CallBlock(MacroDefinition caller, Expression call, int line) implements Statement {}

    record Group(List<Statement> body, int line) implements Statement {}

    record Break(int line) implements Statement {}

    record Continue(int line) implements Statement {}

    /** What can be assigned to. */
    sealed interface Target {
        record Name(String name) implements Target {}

        /** An attribute of a namespace. */
        record Attribute(String object, String name) implements Target {}

        record Unpacked(List<Target> parts) implements Target {}
    }
}
