package dev.strata.chat.template;

import java.time.Clock;
import java.time.ZonedDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A parsed template. Immutable; any number of threads may render it. */
public final class Template {
    private final String name;
    private final List<Statement> body;

    private Template(String name, List<Statement> body) {
        this.name = name;
        this.body = body;
    }

    /**
     * Parses a template.
     *
     * @param name said in errors
     * @throws TemplateException naming the line
     */
    public static Template parse(String name, String source) {
        try {
            return new Template(name, new Parser(source).parse());
        } catch (TemplateException error) {
            throw new TemplateException(
                    name + String.valueOf(error.getMessage()).substring("template".length()), error.line(), false);
        }
    }

    /**
     * Renders.
     *
     * @param variables maps, lists, strings, numbers, booleans and nulls; they are copied
     * @param clock the time that strftime_now tells
     * @throws TemplateException naming the line; {@link TemplateException#raised} tells whether the template itself refused
     */
    public String render(Map<String, ?> variables, Clock clock) {
        Budget budget = new Budget();
        Map<String, Object> copies = new HashMap<>();
        variables.forEach((key, value) -> copies.put(key, Values.of(value)));
        Scope functions = Scope.root(Functions.table(ZonedDateTime.now(clock), budget));
        Scope scope = functions.inner();
        copies.forEach(scope::set);
        return new Renderer(name, budget).render(body, scope);
    }
}
