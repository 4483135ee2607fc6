package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Recursive descent over the statements of a template. */
final class Parser {
    /** The name that stands for a rendered body inside its own filters. */
    static final String BODY = "{body}";

    private final TokenStream stream;
    private final ExpressionParser expressions;
    private int loops;

    Parser(String source) {
        this.stream = new TokenStream(new Lexer(source).tokens());
        this.expressions = new ExpressionParser(stream);
    }

    List<Statement> parse() {
        List<Statement> body = body(Set.of(), 0);
        if (stream.peek().kind() != Token.Kind.END) {
            throw stream.wrong("unexpected " + stream.peek().describe());
        }
        return body;
    }

    /** Statements up to a block tag with one of the names, whose name is the next token then. */
    private List<Statement> body(Set<String> ends, int opened) {
        stream.descend();
        List<Statement> body = new ArrayList<>();
        while (true) {
            Token token = stream.peek();
            switch (token.kind()) {
                case DATA -> body.add(new Statement.Text((String) stream.next().value(), token.line()));
                case PRINT_BEGIN -> {
                    stream.next();
                    body.add(new Statement.Print(expressions.tupleOrExpression(), token.line()));
                    stream.expect(Token.Kind.PRINT_END, "}}");
                }
                case BLOCK_BEGIN -> {
                    stream.next();
                    if (stream.peek().kind() == Token.Kind.NAME
                            && ends.contains((String) stream.peek().value())) {
                        stream.ascend();
                        return body;
                    }
                    body.add(statement(token.line()));
                }
                default -> {
                    if (!ends.isEmpty()) {
                        throw new TemplateException("the block that begins here is never closed by "
                                        + String.join(
                                                " or ", ends.stream().sorted().toList()))
                                .at("template", opened);
                    }
                    stream.ascend();
                    return body;
                }
            }
        }
    }

    private void close() {
        stream.expect(Token.Kind.BLOCK_END, "%}");
    }

    private Statement statement(int line) {
        String name = stream.name("a statement's name");
        return switch (name) {
            case "if" -> ifStatement(line);
            case "for" -> forStatement(line);
            case "set" -> setStatement(line);
            case "macro" -> macro(line);
            case "call" -> callBlock(line);
            case "filter" -> {
                Expression value = expressions.filterChain(new Expression.Name(BODY));
                close();
                yield new Statement.FilterBlock(value, closedBody("endfilter", line), line);
            }
            case "with" -> with(line);
            // Marks what the model wrote, for training; rendering ignores it.
            case "generation" -> {
                close();
                yield new Statement.Group(closedBody("endgeneration", line), line);
            }
            case "do" -> {
                Expression value = expressions.tupleOrExpression();
                close();
                yield new Statement.Do(value, line);
            }
            case "break" -> loopControl(new Statement.Break(line));
            case "continue" -> loopControl(new Statement.Continue(line));
            default ->
                throw new TemplateException("the statement '" + name + "' is not known here").at("template", line);
        };
    }

    private Statement loopControl(Statement statement) {
        if (loops == 0) {
            throw stream.wrong("break and continue need a loop around them");
        }
        close();
        return statement;
    }

    private List<Statement> closedBody(String end, int line) {
        List<Statement> body = body(Set.of(end), line);
        stream.expectName(end);
        close();
        return body;
    }

    private Statement ifStatement(int line) {
        List<Statement.Branch> branches = new ArrayList<>();
        Optional<Expression> condition = Optional.of(expressions.tupleOrExpression());
        while (true) {
            close();
            List<Statement> body =
                    body(condition.isPresent() ? Set.of("elif", "else", "endif") : Set.of("endif"), line);
            branches.add(new Statement.Branch(condition, body));
            String next = stream.name("elif, else or endif");
            if (next.equals("endif")) {
                close();
                return new Statement.If(branches, line);
            }
            condition = next.equals("elif") ? Optional.of(expressions.tupleOrExpression()) : Optional.empty();
        }
    }

    private Statement forStatement(int line) {
        Statement.Target target = target(false);
        stream.expectName("in");
        Expression source = expressions.expressionWithoutCondition();
        Optional<Expression> condition =
                stream.takeName("if") ? Optional.of(expressions.expression()) : Optional.empty();
        boolean recursive = stream.takeName("recursive");
        close();
        loops++;
        List<Statement> body = body(Set.of("else", "endfor"), line);
        loops--;
        List<Statement> otherwise = List.of();
        if (stream.takeName("else")) {
            close();
            otherwise = body(Set.of("endfor"), line);
        }
        stream.expectName("endfor");
        close();
        return new Statement.For(target, source, condition, body, otherwise, recursive, line);
    }

    private Statement.Target target(boolean attributes) {
        Statement.Target first = singleTarget(attributes);
        if (!stream.peek().isOperator(",")) {
            return first;
        }
        List<Statement.Target> parts = new ArrayList<>(List.of(first));
        while (stream.takeOperator(",")) {
            if (stream.peek().isName("in") || stream.peek().isOperator("=")) {
                break;
            }
            parts.add(singleTarget(attributes));
        }
        return new Statement.Target.Unpacked(parts);
    }

    private Statement.Target singleTarget(boolean attributes) {
        if (stream.takeOperator("(")) {
            Statement.Target inner = target(attributes);
            stream.expectOperator(")");
            return inner;
        }
        String name = stream.name("a variable's name");
        if (attributes && stream.takeOperator(".")) {
            return new Statement.Target.Attribute(name, stream.name("an attribute's name"));
        }
        return new Statement.Target.Name(name);
    }

    private Statement setStatement(int line) {
        Statement.Target target = target(true);
        if (stream.takeOperator("=")) {
            Expression value = expressions.tupleOrExpression();
            close();
            return new Statement.Set(target, value, line);
        }
        Expression value = new Expression.Name(BODY);
        if (stream.takeOperator("|")) {
            value = expressions.filterChain(value);
        }
        close();
        return new Statement.SetBlock(target, value, closedBody("endset", line), line);
    }

    private Statement with(int line) {
        List<Statement.Target> targets = new ArrayList<>();
        List<Expression> values = new ArrayList<>();
        while (stream.peek().kind() != Token.Kind.BLOCK_END) {
            if (!targets.isEmpty()) {
                stream.expectOperator(",");
            }
            targets.add(singleTarget(false));
            stream.expectOperator("=");
            values.add(expressions.expression());
        }
        close();
        return new Statement.With(targets, values, closedBody("endwith", line), line);
    }

    private Statement.MacroDefinition macro(int line) {
        String name = stream.name("a macro's name");
        List<String> parameters = new ArrayList<>();
        List<Expression> defaults = new ArrayList<>();
        stream.expectOperator("(");
        parameters(parameters, defaults);
        return bodyOf(name, parameters, defaults, "endmacro", line);
    }

    /** Parameters and defaults behind an opening parenthesis. */
    private void parameters(List<String> names, List<Expression> defaults) {
        while (!stream.takeOperator(")")) {
            if (!names.isEmpty()) {
                stream.expectOperator(",");
            }
            names.add(stream.name("a parameter's name"));
            if (stream.takeOperator("=")) {
                defaults.add(expressions.expression());
            } else if (!defaults.isEmpty()) {
                throw stream.wrong("a parameter without a default stands behind one with a default");
            }
        }
    }

    private Statement.MacroDefinition bodyOf(
            String name, List<String> parameters, List<Expression> defaults, String end, int line) {
        close();
        int outer = loops;
        loops = 0;
        List<Statement> body = closedBody(end, line);
        loops = outer;
        return new Statement.MacroDefinition(name, parameters, defaults, body, line);
    }

    private Statement callBlock(int line) {
        List<String> parameters = new ArrayList<>();
        List<Expression> defaults = new ArrayList<>();
        if (stream.takeOperator("(")) {
            parameters(parameters, defaults);
        }
        Expression call = expressions.expression();
        if (!(call instanceof Expression.Call)) {
            throw stream.wrong("'call' needs a call of a macro");
        }
        return new Statement.CallBlock(bodyOf("caller", parameters, defaults, "endcall", line), call, line);
    }
}
