package dev.strata.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The values of the STRATA_* variables for one engine, checked. */
public final class Variables {
    private static final String PREFIX = "STRATA_";

    private final Map<Variable, String> set;

    private Variables(Map<Variable, String> set) {
        this.set = set;
    }

    /** Every variable at its default. */
    public static Variables defaults() {
        return new Variables(new EnumMap<>(Variable.class));
    }

    /**
     * Takes the variables out of an environment. Empty values count as unset.
     *
     * @throws ConfigurationException naming the variable and what it accepts
     */
    public static Variables read(Map<String, String> environment) {
        Variables variables = defaults();
        for (Variable variable : Variable.values()) {
            String text = environment.get(variable.key());
            if (text != null && !text.isBlank()) {
                variables = variables.with(variable, text.strip());
            }
        }
        return variables;
    }

    /** Names in the environment that look like ours and are not, each with the nearest known name. */
    public static List<String> unknown(Map<String, String> environment) {
        List<String> known = Arrays.stream(Variable.values()).map(Variable::key).toList();
        List<String> unknown = new ArrayList<>();
        for (String name : environment.keySet()) {
            if (name.startsWith(PREFIX) && !known.contains(name)) {
                unknown.add(name + " (nearest known: " + Nearest.to(name, known).orElse("none") + ")");
            }
        }
        return unknown;
    }

    /**
     * The same values with one changed.
     *
     * @throws ConfigurationException naming the variable and what it accepts
     */
    public Variables with(Variable variable, String text) {
        if (!variable.kind().accepts(text)) {
            throw new ConfigurationException(variable.key() + "=" + text + " cannot be used: it accepts "
                    + variable.kind().accepted());
        }
        Map<Variable, String> changed = new EnumMap<>(Variable.class);
        changed.putAll(set);
        changed.put(variable, text);
        return new Variables(changed);
    }

    public boolean isSet(Variable variable) {
        return set.containsKey(variable);
    }

    /** The value or the default as text, empty when there is neither. */
    public Optional<String> text(Variable variable) {
        return Optional.ofNullable(value(variable));
    }

    /** The value of an on/off variable; off when it is unset without a default. */
    public boolean flag(Variable variable) {
        return "1".equals(value(variable));
    }

    /** A whole number, empty when unset without a default or when a word was given instead. */
    public OptionalLong whole(Variable variable) {
        String value = value(variable);
        try {
            return value == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(value));
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    /** A number, empty when unset without a default or when a word was given instead. */
    public OptionalDouble real(Variable variable) {
        String value = value(variable);
        try {
            return value == null ? OptionalDouble.empty() : OptionalDouble.of(Double.parseDouble(value));
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }

    private @Nullable String value(Variable variable) {
        String value = set.get(variable);
        return value != null ? value : variable.standard();
    }
}
