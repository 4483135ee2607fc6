package dev.strata.cli;

import dev.strata.config.Nearest;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;

/** Says what was wrong with a command line in one sentence, names the nearest known word, and gives exit code 2. */
final class UsageErrors implements CommandLine.IParameterExceptionHandler {
    @Override
    public int handleParseException(CommandLine.ParameterException error, String[] arguments) {
        CommandLine command = error.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("strata: " + message(error, command));
        err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        err.flush();
        return CommandLine.ExitCode.USAGE;
    }

    private static String message(CommandLine.ParameterException error, CommandLine command) {
        if (!(error instanceof CommandLine.UnmatchedArgumentException unmatched)
                || unmatched.getUnmatched().isEmpty()) {
            return String.valueOf(error.getMessage());
        }
        String word = unmatched.getUnmatched().getFirst().split("=", 2)[0];
        boolean flag = word.startsWith("-");
        List<String> known = flag
                ? command.getCommandSpec().optionsMap().keySet().stream()
                        .filter(name -> name.startsWith("--"))
                        .toList()
                : List.copyOf(verbs(command).keySet());
        Optional<String> nearest = Nearest.to(word, known);
        return "unknown " + (flag ? "flag " : "word ") + word
                + nearest.map(name -> "; did you mean " + name + "?").orElse("");
    }

    private static Map<String, CommandLine> verbs(CommandLine command) {
        return command.getSubcommands();
    }
}
