package dev.strata;

import dev.strata.cli.StrataCommand;

/** Entry point of the {@code strata} command. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        // JavaCPP would otherwise count our mapped models as its own memory, collect garbage and give up; and its
        // pointers are ours to close.
        System.setProperty("org.bytedeco.javacpp.nopointergc", "true");
        System.setProperty("org.bytedeco.javacpp.maxBytes", "0");
        System.setProperty("org.bytedeco.javacpp.maxPhysicalBytes", "0");
        System.exit(StrataCommand.run(arguments));
    }
}
