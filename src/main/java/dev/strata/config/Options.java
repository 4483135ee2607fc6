package dev.strata.config;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything that was asked for on the command line and in the environment; flags take precedence over variables, variables over defaults.
 *
 * @param model GGUF file, one of its shards, or a folder
 * @param slotFolder where cached texts are saved; null: nowhere
 * @param aliases names the model is served under, the first one is its id; empty: from the file
 */
public record Options(
        Path model,
        List<String> aliases,
        EngineOptions engine,
        TierOptions tiers,
        Variables variables,
        @Nullable Path slotFolder) {
    /** Without a folder for cached texts. */
    public Options(
            Path model, List<String> aliases, EngineOptions engine, TierOptions tiers, Variables variables) {
        this(model, aliases, engine, tiers, variables, null);
    }

    /** With tiers as they are by default. */
    public Options(Path model, List<String> aliases, EngineOptions engine, Variables variables) {
        this(model, aliases, engine, TierOptions.DEFAULTS, variables);
    }

    public Options withEngine(EngineOptions other) {
        return new Options(model, aliases, other, tiers, variables, slotFolder);
    }

    public Options withTiers(TierOptions other) {
        return new Options(model, aliases, engine, other, variables, slotFolder);
    }

    public Options withSlotFolder(@Nullable Path folder) {
        return new Options(model, aliases, engine, tiers, variables, folder);
    }

    public Options withVariables(Variables other) {
        return new Options(model, aliases, engine, tiers, other, slotFolder);
    }
}
