package dev.strata.cli;

import dev.strata.engine.Backends;
import dev.strata.engine.Backends.Finding;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code strata doctor}: what this machine can do, and what is missing. */
@Command(
        name = "doctor",
        description = "Says what this machine has to run models with, and what is missing.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class DoctorCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        List<Finding> findings = new ArrayList<>();
        findings.add(new Finding(
                "Java", Runtime.version().feature() >= 25, Runtime.version() + ", " + System.getProperty("java.home")));
        findings.add(new Finding(
                "system",
                System.getProperty("os.name").equals("Linux"),
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch")
                        + (windowsSubsystem()
                                ? ", inside Windows: pinned memory is limited and reads are buffered"
                                : "")));
        findings.addAll(Backends.findings());
        Path standard = ModelPath.standard();
        findings.add(new Finding(
                "default model",
                Files.exists(standard),
                standard.toAbsolutePath().toString()));
        for (Finding finding : findings) {
            out.printf("%-4s %-16s %s%n", finding.good() ? "ok" : "-", finding.what(), finding.text());
        }
        out.flush();
        return 0;
    }

    private static boolean windowsSubsystem() {
        return System.getProperty("os.version")
                .toLowerCase(java.util.Locale.ROOT)
                .contains("microsoft");
    }
}
