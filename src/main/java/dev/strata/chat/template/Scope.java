package dev.strata.chat.template;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Variables of a loop body, a macro or the template, with those around them. */
final class Scope {
    private final @Nullable Scope outer;
    private final Map<String, Object> variables;

    private Scope(@Nullable Scope outer, Map<String, Object> variables) {
        this.outer = outer;
        this.variables = variables;
    }

    static Scope root(Map<String, Object> variables) {
        return new Scope(null, variables);
    }

    Scope inner() {
        return new Scope(this, new HashMap<>());
    }

    void set(String name, Object value) {
        variables.put(name, value);
    }

    /** The value of a name, or null when no scope knows it. */
    @Nullable
    Object find(String name) {
        for (Scope scope = this; scope != null; scope = scope.outer) {
            Object value = scope.variables.get(name);
            if (value != null) {
                return value;
            }
        }
        return null;
    }
}
