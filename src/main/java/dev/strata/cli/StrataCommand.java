package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import dev.strata.format.ModelFormatException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The root command. */
@Command(
        name = "strata",
        description = "Serves a mixture-of-experts language model over an OpenAI-compatible HTTP API.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true,
        subcommands = {ConvertCommand.class})
public final class StrataCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Runs a command line and returns the exit code: 0 done, 1 failed, 2 wrong usage. */
    public static int run(String[] arguments) {
        return run(
                arguments,
                new PrintWriter(System.out, true, StandardCharsets.UTF_8),
                new PrintWriter(System.err, true, StandardCharsets.UTF_8));
    }

    static int run(String[] arguments, PrintWriter out, PrintWriter err) {
        return new CommandLine(new StrataCommand())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setAbbreviatedOptionsAllowed(false)
                .setUnmatchedOptionsArePositionalParams(false)
                .setParameterExceptionHandler(new UsageErrors())
                .setExecutionExceptionHandler(StrataCommand::failed)
                .setOut(out)
                .setErr(err)
                .execute(arguments);
    }

    @Override
    public Integer call() {
        spec.commandLine().usage(spec.commandLine().getOut());
        return CommandLine.ExitCode.OK;
    }

    /** Errors that name their cause are told in one line; anything else keeps its trace. */
    private static int failed(Exception error, CommandLine command, CommandLine.ParseResult parsed) throws Exception {
        if (error instanceof ConfigurationException) {
            command.getErr().println("strata: " + error.getMessage());
            return CommandLine.ExitCode.USAGE;
        }
        if (error instanceof ModelFormatException) {
            command.getErr().println("strata: " + error.getMessage());
            return CommandLine.ExitCode.SOFTWARE;
        }
        throw error;
    }
}
