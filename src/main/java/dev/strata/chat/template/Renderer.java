package dev.strata.chat.template;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Runs the statements of a template once. */
final class Renderer {
    /** How a statement ended. */
    private enum Flow {
        NEXT,
        BREAK,
        CONTINUE
    }

    private final String template;
    private final Budget budget;
    private final Evaluator evaluator;
    private StringBuilder out = new StringBuilder();

    Renderer(String template, Budget budget) {
        this.template = template;
        this.budget = budget;
        this.evaluator = new Evaluator(template, budget);
    }

    String render(List<Statement> body, Scope scope) {
        try {
            run(body, scope);
        } catch (StackOverflowError error) {
            throw new TemplateException(template + ": expressions are nested too deep for this thread's stack");
        }
        return out.toString();
    }

    private Flow run(List<Statement> body, Scope scope) {
        for (Statement statement : body) {
            try {
                Flow flow = run(statement, scope);
                if (flow != Flow.NEXT) {
                    return flow;
                }
            } catch (TemplateException error) {
                throw error.at(template, statement.line());
            }
        }
        return Flow.NEXT;
    }

    private Flow run(Statement statement, Scope scope) {
        budget.charge(1);
        switch (statement) {
            case Statement.Text text -> write(text.text());
            case Statement.Print print -> write(PythonText.string(evaluator.evaluate(print.expression(), scope)));
            case Statement.Do effect -> evaluator.evaluate(effect.expression(), scope);
            case Statement.If condition -> {
                for (Statement.Branch branch : condition.branches()) {
                    if (branch.condition().isEmpty()
                            || Values.truth(
                                    evaluator.evaluate(branch.condition().get(), scope))) {
                        return run(branch.body(), scope);
                    }
                }
            }
            case Statement.For loop -> loop(loop, evaluator.evaluate(loop.source(), scope), scope, 0);
            case Statement.Set set -> assign(set.target(), evaluator.evaluate(set.value(), scope), scope);
            case Statement.SetBlock set ->
                assign(set.target(), filtered(set.value(), captured(set.body(), scope.inner()), scope), scope);
            case Statement.FilterBlock filter ->
                write(PythonText.string(filtered(filter.value(), captured(filter.body(), scope.inner()), scope)));
            case Statement.With with -> {
                Scope inner = scope.inner();
                for (int index = 0; index < with.targets().size(); index++) {
                    assign(
                            with.targets().get(index),
                            evaluator.evaluate(with.values().get(index), scope),
                            inner);
                }
                return run(with.body(), inner);
            }
            case Statement.MacroDefinition macro -> scope.set(macro.name(), macro(macro, scope));
            case Statement.CallBlock call -> callBlock(call, scope);
            case Statement.Group group -> {
                return run(group.body(), scope);
            }
            case Statement.Break ignored -> {
                return Flow.BREAK;
            }
            case Statement.Continue ignored -> {
                return Flow.CONTINUE;
            }
        }
        return Flow.NEXT;
    }

    private void write(String text) {
        budget.text(text.length());
        if (out.length() + text.length() > Budget.LARGEST_TEXT) {
            throw new TemplateException("the rendered text is longer than " + Budget.LARGEST_TEXT + " characters");
        }
        out.append(text);
    }

    /** What the statements write, taken aside. */
    private String captured(List<Statement> body, Scope scope) {
        StringBuilder outer = out;
        out = new StringBuilder();
        try {
            run(body, scope);
            return out.toString();
        } finally {
            out = outer;
        }
    }

    private Object filtered(Expression value, String body, Scope scope) {
        Scope inner = scope.inner();
        inner.set(Parser.BODY, body);
        return evaluator.evaluate(value, inner);
    }

    private void loop(Statement.For loop, Object source, Scope scope, int depth) {
        budget.enter();
        List<Object> elements = new ArrayList<>(Values.elements(source));
        if (loop.condition().isPresent()) {
            Scope test = scope.inner();
            elements.removeIf(element -> {
                assign(loop.target(), element, test);
                return !Values.truth(evaluator.evaluate(loop.condition().get(), test));
            });
        }
        Callable recursion = arguments -> {
            if (!loop.recursive()) {
                throw new TemplateException("loop() needs a loop marked 'recursive'");
            }
            return captured(loop, arguments.require(0, "iterable"), scope, depth + 1);
        };
        LoopState state = new LoopState(elements, depth, recursion);
        for (int round = 0; round < elements.size(); round++) {
            budget.charge(1);
            Scope inner = scope.inner();
            state.at(round);
            inner.set("loop", state);
            assign(loop.target(), elements.get(round), inner);
            if (run(loop.body(), inner) == Flow.BREAK) {
                break;
            }
        }
        if (elements.isEmpty()) {
            run(loop.otherwise(), scope.inner());
        }
        budget.leave();
    }

    private String captured(Statement.For loop, Object source, Scope scope, int depth) {
        StringBuilder outer = out;
        out = new StringBuilder();
        try {
            loop(loop, source, scope, depth);
            return out.toString();
        } finally {
            out = outer;
        }
    }

    private void assign(Statement.Target target, Object value, Scope scope) {
        switch (target) {
            case Statement.Target.Name(String name) -> scope.set(name, value);
            case Statement.Target.Attribute(String object, String name) -> {
                Object holder = scope.find(object);
                if (!(holder instanceof Namespace namespace)) {
                    throw new TemplateException(
                            "'" + object + "." + name + "' cannot be set: '" + object + "' is no namespace");
                }
                namespace.attributes().put(name, value);
            }
            case Statement.Target.Unpacked(List<Statement.Target> parts) -> {
                List<Object> values = Values.elements(value);
                if (values.size() != parts.size()) {
                    throw new TemplateException(
                            "cannot unpack " + values.size() + " values into " + parts.size() + " variables");
                }
                for (int index = 0; index < parts.size(); index++) {
                    assign(parts.get(index), values.get(index), scope);
                }
            }
        }
    }

    private Macro macro(Statement.MacroDefinition definition, Scope scope) {
        return new Macro(definition.name(), arguments -> call(definition, arguments, scope));
    }

    private Object call(Statement.MacroDefinition definition, Arguments arguments, Scope defined) {
        budget.enter();
        Scope scope = defined.inner();
        List<String> names = definition.parameters();
        Set<String> extra = new HashSet<>(arguments.named().keySet());
        int required = names.size() - definition.defaults().size();
        for (int index = 0; index < names.size(); index++) {
            String name = names.get(index);
            Object value;
            if (arguments.has(index, name)) {
                value = arguments.get(index, name, None.NONE);
            } else if (index >= required) {
                value = evaluator.evaluate(definition.defaults().get(index - required), scope);
            } else {
                value = new Undefined("parameter '" + name + "' was not provided");
            }
            scope.set(name, value);
            extra.remove(name);
        }
        List<Object> positional = arguments.positional();
        scope.set(
                "varargs",
                new Values.Tuple(positional
                        .subList(Math.min(names.size(), positional.size()), positional.size())
                        .toArray()));
        Map<Object, Object> keywords = new LinkedHashMap<>();
        extra.forEach(name -> keywords.put(name, arguments.get(Integer.MAX_VALUE, name, None.NONE)));
        scope.set("kwargs", keywords);
        Object caller = arguments.named().get("caller");
        scope.set("caller", caller == null ? new Undefined("no caller defined") : caller);
        String text = captured(definition.body(), scope);
        budget.leave();
        return text;
    }

    private void callBlock(Statement.CallBlock block, Scope scope) {
        Expression.Call call = (Expression.Call) block.call();
        Object function = evaluator.evaluate(call.function(), scope);
        if (!(function instanceof Callable callable)) {
            throw new TemplateException("'call' needs a macro, not " + Values.kind(function));
        }
        Arguments given = evaluator.arguments(call.parameters(), scope);
        Map<String, Object> named = new LinkedHashMap<>(given.named());
        named.put("caller", macro(block.caller(), scope));
        write(PythonText.string(callable.call(new Arguments(given.positional(), named))));
    }
}
