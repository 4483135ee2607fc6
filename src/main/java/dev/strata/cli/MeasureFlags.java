package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What the commands that measure the memory tiers have in common: a model, where its experts lie, and where results go. */
final class MeasureFlags {
    @Mixin
    private ModelFlags model = new ModelFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Option(
            names = "--append",
            paramLabel = "FILE",
            description = "Also append every result to a file, a line of JSON each.")
    private @Nullable Path append;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create();

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
        new ResultLines(spec.commandLine().getOut(), append).tell(result);
    }
}
