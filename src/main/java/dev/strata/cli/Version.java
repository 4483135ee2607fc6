package dev.strata.cli;

import dev.strata.config.Variables;
import dev.strata.engine.Backends;
import java.util.Optional;
import picocli.CommandLine;

/** What {@code --version} prints. */
final class Version implements CommandLine.IVersionProvider {
    /** The version of this build; {@code development} when it does not run from a jar. */
    static String number() {
        return Optional.ofNullable(Version.class.getPackage().getImplementationVersion())
                .orElse("development");
    }

    @Override
    public String[] getVersion() {
        return new String[] {
            "strata " + number(),
            "processor kernels for " + Backends.instructionSet(Variables.read(System.getenv())),
            "java " + Runtime.version() + ", " + System.getProperty("os.name") + " " + System.getProperty("os.arch")
        };
    }
}
