package dev.strata.cli;

import dev.strata.engine.Backends;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.memory.HostMemory;
import dev.strata.memory.MemoryPlan;
import dev.strata.model.ModelConfigReader;
import dev.strata.synth.ModelSource;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code strata inspect}: what is in a model and what this machine can do with it. */
@Command(
        name = "inspect",
        description = "Says what is in a model: sizes by role, types, experts, and what this machine can do with it.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class InspectCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "MODEL", description = "A GGUF file or shard, or a folder of safetensors.")
    private Path path = Path.of("");

    @Option(names = "--metadata", description = "List the metadata, long values shortened.")
    private boolean metadata;

    @Option(names = "--tensors", description = "List every tensor.")
    private boolean tensors;

    @Option(names = "--json", description = "Write one line of JSON instead of text.")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (ModelFiles files = ModelSource.open(path)) {
            ModelSizes sizes = ModelSizes.of(files);
            if (json) {
                out.println(JsonText.of(sizes.asMap(files)));
                return CommandLine.ExitCode.OK;
            }
            head(out, files, sizes);
            table(out, sizes);
            if (sizes.expertBytes() > 0) {
                machine(out, sizes);
            }
            if (metadata) {
                files.metadata().forEach((key, value) -> out.println(key + " = " + shortened(value)));
            }
            if (tensors) {
                for (TensorEntry tensor : files.tensors()) {
                    out.println(String.format(
                            Locale.ROOT,
                            "%-64s %-8s %-24s %14d bytes at %d",
                            tensor.name(),
                            tensor.dtype(),
                            tensor.shape(),
                            tensor.bytes(),
                            tensor.offset()));
                }
            }
        }
        return CommandLine.ExitCode.OK;
    }

    private static void head(PrintWriter out, ModelFiles files, ModelSizes sizes) {
        out.println(String.format(
                Locale.ROOT,
                "%s: %s, %d file%s, %d tensors, %s parameters, %s",
                files.path(),
                files.container(),
                files.files().size(),
                files.files().size() == 1 ? "" : "s",
                files.tensors().size(),
                parameters(sizes.parameters()),
                ModelSizes.text(sizes.bytes())));
        try {
            new ModelSummary(ModelConfigReader.hyperparameters(files)).lines().forEach(out::println);
        } catch (ModelFormatException unknown) {
            out.println("cannot be run: " + unknown.getMessage());
        }
    }

    private static String parameters(long count) {
        return count >= 1_000_000_000
                ? String.format(Locale.ROOT, "%.2f billion", count / 1e9)
                : String.format(Locale.ROOT, "%.2f million", count / 1e6);
    }

    private static void table(PrintWriter out, ModelSizes sizes) {
        out.println();
        out.println(String.format(
                Locale.ROOT, "%-17s %8s %12s %11s %6s  %s", "role", "tensors", "million", "size", "bits", "types"));
        for (ModelSizes.Part part : sizes.parts()) {
            out.println(String.format(
                    Locale.ROOT,
                    "%-17s %8d %12.2f %11s %6.2f  %s",
                    part.role(),
                    part.tensors(),
                    part.elements() / 1e6,
                    ModelSizes.text(part.bytes()),
                    part.elements() == 0 ? 0 : 8.0 * part.bytes() / part.elements(),
                    part.types()));
        }
        for (ModelSizes.ExpertKind kind : sizes.expertKinds()) {
            out.println(String.format(
                    Locale.ROOT,
                    "experts of %s: %s, %s each",
                    kind.layers(),
                    kind.types(),
                    ModelSizes.text(kind.bytes())));
        }
    }

    private static void machine(PrintWriter out, ModelSizes sizes) {
        out.println();
        out.println("this machine:");
        for (Backends.Finding finding : Backends.findings()) {
            out.println(String.format("  %-12s %s", finding.what(), finding.text()));
        }
        out.println(MemoryPlan.of(
                        new MemoryPlan.Case(HostMemory.read(), sizes.expertBytes(), MemoryPlan.Wish.AUTO, 0, true))
                .table());
    }

    private static String shortened(Object value) {
        if (value instanceof List<?> list && list.size() > 12) {
            return list.subList(0, 12) + " ... " + list.size() + " values";
        }
        String text = String.valueOf(value).replace("\n", "\\n");
        return text.length() > 160 ? text.substring(0, 160) + " ... " + text.length() + " characters" : text;
    }
}
