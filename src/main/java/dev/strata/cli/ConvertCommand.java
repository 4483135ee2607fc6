package dev.strata.cli;

import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.TypePlan;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code strata convert}: a Hugging Face folder or a GGUF file to one GGUF file. */
@Command(
        name = "convert",
        description = "Converts a model folder of safetensors, or a GGUF file, to a GGUF file.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class ConvertCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "SRC", description = "Folder of safetensors, or a GGUF file.")
    private Path source = Path.of("");

    @Parameters(index = "1", paramLabel = "DST", description = "The GGUF file to write.")
    private Path target = Path.of("");

    @Option(
            names = "--types",
            paramLabel = "TYPE[,ROLE=TYPE]...",
            defaultValue = "keep",
            description = "Default type and overrides by role or tensor name, such as Q8_0,experts=Q4_K,ngram=IQ4_NL."
                    + " Default: ${DEFAULT-VALUE}.")
    private String types = "keep";

    @Option(
            names = "--pack",
            description =
                    "Write a pack: a GGUF file in which the matrices of an expert lie together on borders of 64 KiB,"
                            + " for models larger than RAM that are read from the drive.")
    private boolean pack;

    @Option(names = "--force", description = "Overwrite DST.")
    private boolean force;

    @Option(names = "--threads", paramLabel = "N", description = "Threads that encode. Default: all processors.")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws IOException {
        PrintWriter err = spec.commandLine().getErr();
        TypePlan plan;
        try {
            plan = TypePlan.parse(types);
        } catch (IllegalArgumentException exception) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--types: " + exception.getMessage(), exception);
        }
        if (threads < 1) {
            throw new CommandLine.ParameterException(spec.commandLine(), "--threads: " + threads + " is not positive");
        }
        if (!force && Files.exists(target)) {
            throw new ModelFormatException(target + ": is already there; give --force to overwrite it");
        }
        long started = System.nanoTime();
        try (ModelFiles files = ModelFileOpener.open(source)) {
            Conversion conversion = Conversion.of(files, plan);
            conversion
                    .plan()
                    .unused()
                    .forEach(name -> err.println("strata: tensor " + name + " has no place in the result"));
            try (ProgressBar bar = new ProgressBar(err, "convert", conversion.bytes())) {
                if (pack) {
                    conversion.pack(target, force, threads, bar::update);
                } else {
                    conversion.run(target, force, threads, bar::update);
                }
            }
            summary(conversion, (System.nanoTime() - started) / 1e9);
            return CommandLine.ExitCode.OK;
        } catch (FileAlreadyExistsException exception) {
            throw new ModelFormatException(target + ": is already there; give --force to overwrite it", exception);
        }
    }

    private void summary(Conversion conversion, double seconds) throws IOException {
        Map<QuantType, long[]> byType = new EnumMap<>(QuantType.class);
        for (Conversion.Item item : conversion.items()) {
            long[] sums = byType.computeIfAbsent(item.target().type(), type -> new long[2]);
            sums[0]++;
            sums[1] += item.target().bytes();
        }
        PrintWriter out = spec.commandLine().getOut();
        byType.forEach((type, sums) ->
                out.println(String.format(Locale.ROOT, "%-8s %6d tensors %12.2f MB", type, sums[0], sums[1] / 1e6)));
        out.println(String.format(Locale.ROOT, "%s: %.2f MB in %.1f s", target, Files.size(target) / 1e6, seconds));
    }
}
