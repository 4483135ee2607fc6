package dev.strata.config;

import java.nio.file.Path;
import java.util.List;

/**
 * Everything that was asked for on the command line and in the environment; flags take precedence over variables, variables over defaults.
 *
 * @param model GGUF file, one of its shards, or a folder
 * @param aliases names the model is served under, the first one is its id; empty: from the file
 */
public record Options(Path model, List<String> aliases, EngineOptions engine, TierOptions tiers, Variables variables) {
    /** With tiers as they are by default. */
    public Options(Path model, List<String> aliases, EngineOptions engine, Variables variables) {
        this(model, aliases, engine, TierOptions.DEFAULTS, variables);
    }

    public Options withTiers(TierOptions other) {
        return new Options(model, aliases, engine, other, variables);
    }

    public Options withVariables(Variables other) {
        return new Options(model, aliases, engine, tiers, other);
    }
}
