package dev.strata.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Where a benchmark's results go. */
final class ResultFlags {
    @Option(
            names = "--append",
            paramLabel = "FILE",
            description = "Also append every result to a file, a line of JSON each.")
    private @Nullable Path append;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create();

    ResultLines lines() {
        return new ResultLines(spec.commandLine().getOut(), append);
    }
}
