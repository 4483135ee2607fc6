package dev.strata;

import dev.strata.cli.StrataCommand;
import dev.strata.engine.Backends;

/** Entry point of the {@code strata} command. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        // JavaCPP would otherwise count our mapped models as its own memory, collect garbage and give up; and its
        // pointers are ours to close.
        System.setProperty("org.bytedeco.javacpp.nopointergc", "true");
        System.setProperty("org.bytedeco.javacpp.maxBytes", "0");
        System.setProperty("org.bytedeco.javacpp.maxPhysicalBytes", "0");
        // Two threads may start logging at once; no line is lost by it, and the library need not explain that.
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        if (arguments.length > 0 && arguments[0].equals("--serve")) {
            // Found and linked while the command line is read.
            Thread.ofPlatform().name("strata-prepare").daemon().start(Backends::whyNoCpu);
        }
        System.exit(StrataCommand.run(arguments));
    }
}
