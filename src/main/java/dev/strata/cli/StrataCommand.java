package dev.strata.cli;

import dev.strata.chat.template.TemplateException;
import dev.strata.config.ConfigurationException;
import dev.strata.config.Options;
import dev.strata.device.DeviceException;
import dev.strata.format.ModelFormatException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The root command. */
@Command(
        name = "strata",
        description = "Serves a mixture-of-experts language model over an OpenAI-compatible HTTP API.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true)
public final class StrataCommand implements Callable<Integer> {
    @Option(names = "--serve", description = "Serve the model over HTTP.")
    private boolean serve;

    @Option(
            names = "--exit-when-ready",
            description =
                    "With --serve: answer one short question, then stop. The launcher uses it to prepare fast starts.")
    private boolean exitWhenReady;

    @Mixin
    private ModelFlags model = new ModelFlags();

    @Option(
            names = "--alias",
            paramLabel = "NAME",
            description = "Name the model is served under; may be repeated, the first one is its id.")
    private List<String> aliases = List.of();

    @Mixin
    private EngineFlags engine = new EngineFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Mixin
    private ServerFlags server = new ServerFlags();

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
        CommandLine command = new CommandLine(new StrataCommand());
        Verbs.add(command, arguments);
        // A command line that is written behind another one changes it: the last value counts, and that is nothing to
        // warn about.
        CommandLine.tracer().setLevel(CommandLine.TraceLevel.OFF);
        return command.setOverwrittenOptionsAllowed(true)
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
    public Integer call() throws IOException, InterruptedException {
        if (serve) {
            return serve();
        }
        spec.commandLine().usage(spec.commandLine().getOut());
        return CommandLine.ExitCode.OK;
    }

    private int serve() throws IOException, InterruptedException {
        Options options = tiers.addTo(model.options(engine.options(), aliases))
                .withSlotFolder(server.slotFolder())
                .withCacheBytes(engine.cacheBytes());
        Serving serving = Serving.start(options, server.options(), server.drain());
        if (exitWhenReady) {
            serving.answerOnce();
            serving.close();
            return CommandLine.ExitCode.OK;
        }
        // SIGTERM and control-C run this; the answers that are under way are finished first.
        Runtime.getRuntime()
                .addShutdownHook(Thread.ofPlatform().name("strata-stop").unstarted(serving::close));
        serving.await();
        return CommandLine.ExitCode.OK;
    }

    /** Errors that name their cause are told in one line; anything else keeps its trace. */
    private static int failed(Exception error, CommandLine command, CommandLine.ParseResult parsed) throws Exception {
        if (error instanceof ConfigurationException) {
            command.getErr().println("strata: " + error.getMessage());
            return CommandLine.ExitCode.USAGE;
        }
        if (error instanceof ModelFormatException
                || error instanceof TemplateException
                || error instanceof DeviceException) {
            command.getErr().println("strata: " + error.getMessage());
            return CommandLine.ExitCode.SOFTWARE;
        }
        if (error instanceof IOException || error instanceof UncheckedIOException) {
            command.getErr().println("strata: " + IoErrors.message(error));
            return CommandLine.ExitCode.SOFTWARE;
        }
        throw error;
    }
}
