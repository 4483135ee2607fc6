package dev.strata.chat.template;

import java.util.List;
import java.util.Optional;

/** Expressions of a template. Lines are those of the source, from 1. */
sealed interface Expression {
    record Literal(Object value) implements Expression {}

    record Name(String name) implements Expression {}

    record ListLiteral(List<Expression> elements, boolean tuple) implements Expression {}

    record DictLiteral(List<Expression> keys, List<Expression> values) implements Expression {}

    /** {@code object.name} */
    record Attribute(Expression object, String name, int line) implements Expression {}

    /** {@code object[key]} */
    record Item(Expression object, Expression key, int line) implements Expression {}

    /** {@code object[from:to:step]} */
    record Slice(
            Expression object, Optional<Expression> from, Optional<Expression> to, Optional<Expression> step, int line)
            implements Expression {}

    record Call(Expression function, Parameters parameters, int line) implements Expression {}

    record Filter(Expression input, String name, Parameters parameters, int line) implements Expression {}

    record Test(Expression input, String name, Parameters parameters, boolean negated, int line)
            implements Expression {}

    record Not(Expression operand) implements Expression {}

    /** {@code +} or {@code -} in front. */
    record Sign(boolean minus, Expression operand) implements Expression {}

    record And(Expression left, Expression right) implements Expression {}

    record Or(Expression left, Expression right) implements Expression {}

    /** Arithmetic. */
    record Binary(String operator, Expression left, Expression right, int line) implements Expression {}

    record Concatenation(List<Expression> parts) implements Expression {}

    /** A chain such as {@code a < b <= c}. */
    record Comparison(Expression first, List<String> operators, List<Expression> others, int line)
            implements Expression {}

    record Conditional(Expression condition, Expression then, Optional<Expression> otherwise) implements Expression {}

    /** Arguments as written. */
    record Parameters(
            List<Expression> positional,
            List<String> names,
            List<Expression> named,
            Optional<Expression> starred,
            Optional<Expression> doubleStarred) {
        static final Parameters NONE =
                new Parameters(List.of(), List.of(), List.of(), Optional.empty(), Optional.empty());
    }
}
