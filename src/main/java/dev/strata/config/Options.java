package dev.strata.config;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything that was asked for on the command line and in the environment; flags take precedence over variables, variables over defaults.
 *
 * @param model GGUF file, one of its shards, or a folder
 * @param slotFolder where cached texts are saved; null: nowhere
 * @param cacheBytes what the prefix cache may take; 0: what the engine's options say in tokens and states
 * @param aliases names the model is served under, the first one is its id; empty: from the file
 */
public record Options(
        Path model,
        List<String> aliases,
        EngineOptions engine,
        TierOptions tiers,
        Variables variables,
        @Nullable Path slotFolder,
        long cacheBytes) {
    /** Without a folder and a budget for cached texts. */
    public Options(Path model, List<String> aliases, EngineOptions engine, TierOptions tiers, Variables variables) {
        this(model, aliases, engine, tiers, variables, null, 0);
    }

    /** With tiers as they are by default. */
    public Options(Path model, List<String> aliases, EngineOptions engine, Variables variables) {
        this(model, aliases, engine, TierOptions.DEFAULTS, variables);
    }

    public Options withEngine(EngineOptions other) {
        return new Options(model, aliases, other, tiers, variables, slotFolder, cacheBytes);
    }

    public Options withTiers(TierOptions other) {
        return new Options(model, aliases, engine, other, variables, slotFolder, cacheBytes);
    }

    public Options withSlotFolder(@Nullable Path folder) {
        return new Options(model, aliases, engine, tiers, variables, folder, cacheBytes);
    }

    public Options withCacheBytes(long bytes) {
        return new Options(model, aliases, engine, tiers, variables, slotFolder, bytes);
    }

    public Options withVariables(Variables other) {
        return new Options(model, aliases, engine, tiers, other, slotFolder, cacheBytes);
    }
}
