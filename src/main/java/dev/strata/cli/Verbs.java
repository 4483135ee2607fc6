package dev.strata.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;

/** The verbs of the command line, in the order of the help text. */
final class Verbs {
    private static final Map<String, Supplier<Object>> ALL = all();

    private Verbs() {}

    private static Map<String, Supplier<Object>> all() {
        Map<String, Supplier<Object>> verbs = new LinkedHashMap<>();
        verbs.put("inspect", InspectCommand::new);
        verbs.put("convert", ConvertCommand::new);
        verbs.put("synth", SynthCommand::new);
        verbs.put("logits", LogitsCommand::new);
        verbs.put("tokenize", TokenizeCommand::new);
        verbs.put("bench", BenchCommand::new);
        verbs.put("bench-prompt-path", PromptPathCommand::new);
        verbs.put("bench-decode", DecodePathCommand::new);
        verbs.put("bench-file-tier", FileTierCommand::new);
        verbs.put("chat", ChatCommand::new);
        verbs.put("doctor", DoctorCommand::new);
        return verbs;
    }

    /**
     * Adds the verb that is used, or all of them when a person needs to see them. A start of the server needs none, and describing them
     * all takes as long as loading a small model.
     */
    static void add(CommandLine command, String[] arguments) {
        String first = arguments.length == 0 ? "" : arguments[0];
        Supplier<Object> named = ALL.get(first);
        if (named != null) {
            command.addSubcommand(first, named.get());
        } else if (!first.startsWith("--serve")) {
            ALL.forEach((name, verb) -> command.addSubcommand(name, verb.get()));
        }
    }
}
