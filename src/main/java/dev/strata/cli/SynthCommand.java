package dev.strata.cli;

import dev.strata.format.ModelFormatException;
import dev.strata.format.convert.Conversion;
import dev.strata.synth.SynthModel;
import dev.strata.synth.SynthSpec;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code strata synth}: a GGUF file of real shape with random weights. */
@Command(
        name = "synth",
        description = "Writes a model of a published shape with random weights, for measuring.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class SynthCommand implements Callable<Integer> {
    @Parameters(
            index = "0",
            paramLabel = "SHAPE[:TYPE][:layers=N][:dense=TYPE][:skew=A][:ngram=N][:seed=N]",
            description = {
                "qwen3-30b-a3b, qwen3-next-80b, qwen3.6-35b-a3b or qwen3.8-flash-next.",
                "TYPE is that of the experts (default Q4_K), dense= that of the rest (default Q8_0).",
                "skew=1 makes routers prefer experts about as Zipf's law does (default 0, evenly).",
                "ngram=20000000 gives the n-gram table its real size (default 100000 rows a head)."
            })
    private String shape = "";

    @Parameters(index = "1", paramLabel = "OUT", description = "The GGUF file to write.")
    private Path target = Path.of("");

    @Option(names = "--force", description = "Overwrite OUT.")
    private boolean force;

    @Option(names = "--threads", paramLabel = "N", description = "Threads that generate. Default: all processors.")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws IOException {
        SynthSpec wanted;
        try {
            wanted = SynthSpec.parse(shape);
        } catch (IllegalArgumentException exception) {
            throw new CommandLine.ParameterException(spec.commandLine(), exception.getMessage(), exception);
        }
        if (threads < 1) {
            throw new CommandLine.ParameterException(spec.commandLine(), "--threads: " + threads + " is not positive");
        }
        if (!force && Files.exists(target)) {
            throw new ModelFormatException(target + ": is already there; give --force to overwrite it");
        }
        long started = System.nanoTime();
        Conversion conversion = SynthModel.plan(wanted);
        PrintWriter err = spec.commandLine().getErr();
        try (ProgressBar bar = new ProgressBar(err, "synth", conversion.bytes())) {
            conversion.run(target, force, threads, bar::update);
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        long bytes = Files.size(target);
        spec.commandLine()
                .getOut()
                .println(String.format(
                        Locale.ROOT,
                        "%s: %.2f GB in %.1f s (%.2f GB/s)",
                        target,
                        bytes / 1e9,
                        seconds,
                        bytes / 1e9 / seconds));
        return CommandLine.ExitCode.OK;
    }
}
