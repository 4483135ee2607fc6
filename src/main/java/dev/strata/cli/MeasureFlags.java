package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Mixin;

/** What the commands that measure the memory tiers have in common: a model, where its experts lie, and where results go. */
final class MeasureFlags {
    @Mixin
    private ModelFlags model = new ModelFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Mixin
    private ResultFlags results = new ResultFlags();

    /** The options of a session that holds one text. */
    Options options(EngineOptions engine) {
        return tiers.addTo(model.options(engine, List.of()));
    }

    /** The same where no model is read. */
    Options optionsWithoutModel(EngineOptions engine) {
        return tiers.addTo(model.optionsWithoutModel(engine));
    }

    /** Prints and keeps one result. */
    void tell(Map<String, Object> result) {
        results.lines().tell(result);
    }
}
