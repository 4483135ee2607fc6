package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Recursive descent over expressions, with Jinja's order of binding. */
final class ExpressionParser {
    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", "<=", ">", ">=");
    /** Names that never begin the argument of a test written without parentheses. */
    private static final Set<String> AFTER_TEST = Set.of("else", "or", "and", "if", "is", "in", "not", "recursive");

    private final TokenStream stream;

    ExpressionParser(TokenStream stream) {
        this.stream = stream;
    }

    /** An expression, or several with commas, which make a tuple. */
    Expression tupleOrExpression() {
        Expression first = expression();
        if (!stream.peek().isOperator(",")) {
            return first;
        }
        List<Expression> elements = new ArrayList<>(List.of(first));
        while (stream.takeOperator(",")) {
            if (endsTuple()) {
                break;
            }
            elements.add(expression());
        }
        return new Expression.ListLiteral(elements, true);
    }

    private boolean endsTuple() {
        Token token = stream.peek();
        return token.kind() == Token.Kind.BLOCK_END
                || token.kind() == Token.Kind.PRINT_END
                || token.isOperator(")")
                || token.isOperator("]");
    }

    Expression expression() {
        stream.descend();
        Expression value = or();
        while (stream.takeName("if")) {
            Expression condition = or();
            Optional<Expression> otherwise = stream.takeName("else") ? Optional.of(expression()) : Optional.empty();
            value = new Expression.Conditional(condition, value, otherwise);
        }
        stream.ascend();
        return value;
    }

    /** Without a trailing {@code if}, which belongs to the loop. */
    Expression expressionWithoutCondition() {
        Expression first = or();
        if (!stream.peek().isOperator(",")) {
            return first;
        }
        List<Expression> elements = new ArrayList<>(List.of(first));
        while (stream.takeOperator(",")) {
            elements.add(or());
        }
        return new Expression.ListLiteral(elements, true);
    }

    private Expression or() {
        Expression left = and();
        while (stream.takeName("or")) {
            left = new Expression.Or(left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (stream.takeName("and")) {
            left = new Expression.And(left, not());
        }
        return left;
    }

    private Expression not() {
        if (stream.peek().isName("not") && !stream.peek(1).isName("in")) {
            stream.next();
            stream.descend();
            Expression operand = not();
            stream.ascend();
            return new Expression.Not(operand);
        }
        return comparison();
    }

    private Expression comparison() {
        int line = stream.line();
        Expression first = sum();
        List<String> operators = new ArrayList<>();
        List<Expression> others = new ArrayList<>();
        while (true) {
            Token token = stream.peek();
            if (token.kind() == Token.Kind.OPERATOR && COMPARISONS.contains((String) token.value())) {
                operators.add((String) stream.next().value());
            } else if (stream.takeName("in")) {
                operators.add("in");
            } else if (token.isName("not") && stream.peek(1).isName("in")) {
                stream.next();
                stream.next();
                operators.add("not in");
            } else {
                break;
            }
            others.add(sum());
        }
        return operators.isEmpty() ? first : new Expression.Comparison(first, operators, others, line);
    }

    private Expression sum() {
        Expression left = concatenation();
        while (stream.peek().isOperator("+") || stream.peek().isOperator("-")) {
            Token operator = stream.next();
            left = new Expression.Binary((String) operator.value(), left, concatenation(), operator.line());
        }
        return left;
    }

    private Expression concatenation() {
        Expression first = product();
        if (!stream.peek().isOperator("~")) {
            return first;
        }
        List<Expression> parts = new ArrayList<>(List.of(first));
        while (stream.takeOperator("~")) {
            parts.add(product());
        }
        return new Expression.Concatenation(parts);
    }

    private Expression product() {
        Expression left = power();
        while (true) {
            Token token = stream.peek();
            if (!(token.isOperator("*") || token.isOperator("/") || token.isOperator("//") || token.isOperator("%"))) {
                return left;
            }
            stream.next();
            left = new Expression.Binary((String) token.value(), left, power(), token.line());
        }
    }

    private Expression power() {
        Expression left = unary(true);
        while (stream.peek().isOperator("**")) {
            int line = stream.next().line();
            left = new Expression.Binary("**", left, unary(true), line);
        }
        return left;
    }

    private Expression unary(boolean withFilters) {
        stream.descend();
        Expression value;
        if (stream.takeOperator("-")) {
            value = new Expression.Sign(true, unary(false));
        } else if (stream.takeOperator("+")) {
            value = new Expression.Sign(false, unary(false));
        } else {
            value = primary();
        }
        value = postfix(value);
        value = withFilters ? filters(value) : value;
        stream.ascend();
        return value;
    }

    private Expression primary() {
        Token token = stream.next();
        return switch (token.kind()) {
            case NAME -> named((String) token.value());
            case NUMBER -> new Expression.Literal(token.value());
            case STRING -> {
                StringBuilder text = new StringBuilder((String) token.value());
                while (stream.peek().kind() == Token.Kind.STRING) {
                    text.append((String) stream.next().value());
                }
                yield new Expression.Literal(text.toString());
            }
            case OPERATOR ->
                switch ((String) token.value()) {
                    case "(" -> parenthesized();
                    case "[" -> new Expression.ListLiteral(elements("]"), false);
                    case "{" -> dictionary();
                    default -> throw unexpected(token);
                };
            default -> throw unexpected(token);
        };
    }

    private static TemplateException unexpected(Token token) {
        return new TemplateException("unexpected " + token.describe() + " where a value should be")
                .at("template", token.line());
    }

    private static Expression named(String name) {
        return switch (name) {
            case "true", "True" -> new Expression.Literal(true);
            case "false", "False" -> new Expression.Literal(false);
            case "none", "None" -> new Expression.Literal(None.NONE);
            default -> new Expression.Name(name);
        };
    }

    private Expression parenthesized() {
        if (stream.takeOperator(")")) {
            return new Expression.ListLiteral(List.of(), true);
        }
        Expression value = tupleOrExpression();
        stream.expectOperator(")");
        return value;
    }

    private List<Expression> elements(String close) {
        List<Expression> elements = new ArrayList<>();
        while (!stream.takeOperator(close)) {
            if (!elements.isEmpty()) {
                stream.expectOperator(",");
                if (stream.takeOperator(close)) {
                    break;
                }
            }
            elements.add(expression());
        }
        return elements;
    }

    private Expression dictionary() {
        List<Expression> keys = new ArrayList<>();
        List<Expression> values = new ArrayList<>();
        while (!stream.takeOperator("}")) {
            if (!keys.isEmpty()) {
                stream.expectOperator(",");
                if (stream.takeOperator("}")) {
                    break;
                }
            }
            keys.add(expression());
            stream.expectOperator(":");
            values.add(expression());
        }
        return new Expression.DictLiteral(keys, values);
    }

    private Expression postfix(Expression start) {
        Expression value = start;
        while (true) {
            Token token = stream.peek();
            if (token.isOperator(".")) {
                stream.next();
                value = stream.peek().kind() == Token.Kind.NUMBER
                        ? new Expression.Item(
                                value, new Expression.Literal(stream.next().value()), token.line())
                        : new Expression.Attribute(value, stream.name("an attribute's name"), token.line());
            } else if (token.isOperator("[")) {
                stream.next();
                value = subscript(value, token.line());
            } else if (token.isOperator("(")) {
                stream.next();
                value = new Expression.Call(value, parameters(), token.line());
            } else {
                return value;
            }
        }
    }

    private Expression subscript(Expression object, int line) {
        Optional<Expression> from = stream.peek().isOperator(":") ? Optional.empty() : Optional.of(tupleOrExpression());
        if (stream.takeOperator("]")) {
            return new Expression.Item(object, from.orElseThrow(), line);
        }
        stream.expectOperator(":");
        Optional<Expression> to = sliceBound();
        Optional<Expression> step = stream.takeOperator(":") ? sliceBound() : Optional.empty();
        stream.expectOperator("]");
        return new Expression.Slice(object, from, to, step, line);
    }

    private Optional<Expression> sliceBound() {
        return stream.peek().isOperator(":") || stream.peek().isOperator("]")
                ? Optional.empty()
                : Optional.of(expression());
    }

    private Expression.Parameters parameters() {
        List<Expression> positional = new ArrayList<>();
        List<String> names = new ArrayList<>();
        List<Expression> named = new ArrayList<>();
        Optional<Expression> starred = Optional.empty();
        Optional<Expression> doubleStarred = Optional.empty();
        boolean first = true;
        while (!stream.takeOperator(")")) {
            if (!first) {
                stream.expectOperator(",");
                if (stream.takeOperator(")")) {
                    break;
                }
            }
            first = false;
            if (stream.takeOperator("**")) {
                doubleStarred = Optional.of(expression());
            } else if (stream.takeOperator("*")) {
                starred = Optional.of(expression());
            } else if (stream.peek().kind() == Token.Kind.NAME && stream.peek(1).isOperator("=")) {
                names.add(stream.name("an argument's name"));
                stream.next();
                named.add(expression());
            } else if (!named.isEmpty()) {
                throw stream.wrong("an argument without a name stands behind one with a name");
            } else {
                positional.add(expression());
            }
        }
        return new Expression.Parameters(positional, names, named, starred, doubleStarred);
    }

    /** Filters, tests and calls that follow a value. */
    private Expression filters(Expression start) {
        Expression value = start;
        while (true) {
            Token token = stream.peek();
            if (token.isOperator("|")) {
                stream.next();
                value = filter(value, token.line());
            } else if (token.isName("is")) {
                stream.next();
                value = test(value, token.line());
            } else if (token.isOperator("(")) {
                stream.next();
                value = new Expression.Call(value, parameters(), token.line());
            } else {
                return value;
            }
        }
    }

    /** The filters of {@code {% filter a|b %}} and {@code {% set x | a %}}, applied to {@code input}. */
    Expression filterChain(Expression input) {
        Expression value = filter(input, stream.line());
        while (stream.takeOperator("|")) {
            value = filter(value, stream.line());
        }
        return value;
    }

    private Expression filter(Expression input, int line) {
        String name = dottedName("a filter's name");
        if (!Filters.isKnown(name)) {
            throw stream.wrong("no filter is called '" + name + "'");
        }
        Expression.Parameters parameters = stream.takeOperator("(") ? parameters() : Expression.Parameters.NONE;
        return new Expression.Filter(input, name, parameters, line);
    }

    private Expression test(Expression input, int line) {
        boolean negated = stream.takeName("not");
        String name = dottedName("a test's name");
        if (!Tests.isKnown(name)) {
            throw stream.wrong("no test is called '" + name + "'");
        }
        Expression.Parameters parameters = Expression.Parameters.NONE;
        Token token = stream.peek();
        if (stream.takeOperator("(")) {
            parameters = parameters();
        } else if (token.kind() == Token.Kind.STRING
                || token.kind() == Token.Kind.NUMBER
                || token.kind() == Token.Kind.NAME && !AFTER_TEST.contains((String) token.value())
                || token.isOperator("[")
                || token.isOperator("{")) {
            Expression argument = postfix(primary());
            parameters = new Expression.Parameters(
                    List.of(argument), List.of(), List.of(), Optional.empty(), Optional.empty());
        }
        return new Expression.Test(input, name, parameters, negated, line);
    }

    private String dottedName(String what) {
        StringBuilder name = new StringBuilder(stream.name(what));
        while (stream.takeOperator(".")) {
            name.append('.').append(stream.name(what));
        }
        return name.toString();
    }
}
