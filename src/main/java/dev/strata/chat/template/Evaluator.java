package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Values of expressions in a scope. */
final class Evaluator {
    private final String template;
    private final Budget budget;

    Evaluator(String template, Budget budget) {
        this.template = template;
        this.budget = budget;
    }

    Object evaluate(Expression expression, Scope scope) {
        budget.charge(1);
        return switch (expression) {
            case Expression.Literal(Object value) -> value;
            case Expression.Name(String name) -> {
                Object value = scope.find(name);
                yield value == null ? new Undefined("'" + name + "' is undefined") : value;
            }
            case Expression.ListLiteral(List<Expression> elements, boolean tuple) -> {
                List<Object> values = all(elements, scope);
                yield tuple ? new Values.Tuple(values.toArray()) : values;
            }
            case Expression.DictLiteral(List<Expression> keys, List<Expression> values) -> {
                Map<Object, Object> map = new LinkedHashMap<>();
                for (int index = 0; index < keys.size(); index++) {
                    map.put(evaluate(keys.get(index), scope), evaluate(values.get(index), scope));
                }
                yield map;
            }
            case Expression.Not(Expression operand) -> !Values.truth(evaluate(operand, scope));
            case Expression.And(Expression left, Expression right) -> {
                Object value = evaluate(left, scope);
                yield Values.truth(value) ? evaluate(right, scope) : value;
            }
            case Expression.Or(Expression left, Expression right) -> {
                Object value = evaluate(left, scope);
                yield Values.truth(value) ? value : evaluate(right, scope);
            }
            case Expression.Conditional(Expression condition, Expression then, Optional<Expression> otherwise) -> {
                if (Values.truth(evaluate(condition, scope))) {
                    yield evaluate(then, scope);
                }
                yield otherwise.isPresent()
                        ? evaluate(otherwise.get(), scope)
                        : new Undefined("the inline if-expression has no else");
            }
            case Expression.Concatenation(List<Expression> parts) -> {
                StringBuilder text = new StringBuilder();
                for (Expression part : parts) {
                    text.append(PythonText.string(evaluate(part, scope)));
                }
                budget.text(text.length());
                yield text.toString();
            }
            case Expression.Sign(boolean minus, Expression operand) -> Operators.sign(minus, evaluate(operand, scope));
            case Expression.Binary binary ->
                placed(
                        binary.line(),
                        () -> Operators.binary(
                                binary.operator(),
                                evaluate(binary.left(), scope),
                                evaluate(binary.right(), scope),
                                budget));
            case Expression.Comparison comparison -> placed(comparison.line(), () -> compare(comparison, scope));
            case Expression.Attribute(Expression object, String name, int line) ->
                placed(line, () -> Attributes.attribute(evaluate(object, scope), name, budget));
            case Expression.Item(Expression object, Expression key, int line) ->
                placed(line, () -> Attributes.item(evaluate(object, scope), evaluate(key, scope), budget));
            case Expression.Slice slice -> placed(slice.line(), () -> slice(slice, scope));
            case Expression.Call call -> placed(call.line(), () -> call(call, scope));
            case Expression.Filter filter ->
                placed(
                        filter.line(),
                        () -> Filters.apply(
                                filter.name(),
                                evaluate(filter.input(), scope),
                                arguments(filter.parameters(), scope),
                                budget));
            case Expression.Test test ->
                placed(
                        test.line(),
                        () -> Tests.apply(
                                        test.name(), evaluate(test.input(), scope), arguments(test.parameters(), scope))
                                != test.negated());
        };
    }

    @FunctionalInterface
    private interface Evaluation {
        Object value();
    }

    /** Gives errors their line. */
    private Object placed(int line, Evaluation evaluation) {
        try {
            return evaluation.value();
        } catch (TemplateException error) {
            throw error.at(template, line);
        }
    }

    private List<Object> all(List<Expression> expressions, Scope scope) {
        List<Object> values = new ArrayList<>(expressions.size());
        for (Expression expression : expressions) {
            values.add(evaluate(expression, scope));
        }
        return values;
    }

    private Object compare(Expression.Comparison comparison, Scope scope) {
        Object left = evaluate(comparison.first(), scope);
        for (int index = 0; index < comparison.operators().size(); index++) {
            Object right = evaluate(comparison.others().get(index), scope);
            if (!Operators.comparison(comparison.operators().get(index), left, right)) {
                return false;
            }
            left = right;
        }
        return true;
    }

    private Object slice(Expression.Slice slice, Scope scope) {
        Object result = Values.slice(
                evaluate(slice.object(), scope),
                bound(slice.from(), scope),
                bound(slice.to(), scope),
                bound(slice.step(), scope));
        budget.charge(result instanceof String text ? text.length() / 8 : Values.length(result));
        return result;
    }

    private @Nullable Long bound(Optional<Expression> expression, Scope scope) {
        Object value = expression.isPresent() ? evaluate(expression.get(), scope) : None.NONE;
        return value == None.NONE ? null : Values.integer(value, "slice index");
    }

    Object call(Expression.Call call, Scope scope) {
        Object function = evaluate(call.function(), scope);
        if (function instanceof Callable callable) {
            return callable.call(arguments(call.parameters(), scope));
        }
        if (function instanceof Undefined undefined) {
            throw undefined.error();
        }
        throw new TemplateException("'" + Values.kind(function) + "' object is not callable");
    }

    Arguments arguments(Expression.Parameters parameters, Scope scope) {
        if (parameters == Expression.Parameters.NONE) {
            return Arguments.NONE;
        }
        List<Object> positional = all(parameters.positional(), scope);
        parameters.starred().ifPresent(starred -> positional.addAll(Values.elements(evaluate(starred, scope))));
        Map<String, Object> named = new LinkedHashMap<>();
        for (int index = 0; index < parameters.names().size(); index++) {
            named.put(parameters.names().get(index), evaluate(parameters.named().get(index), scope));
        }
        parameters
                .doubleStarred()
                .ifPresent(starred -> Operators.copyOfMap(evaluate(starred, scope))
                        .forEach((key, value) -> named.put(String.valueOf(key), value)));
        return new Arguments(positional, named);
    }
}
