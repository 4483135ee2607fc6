package dev.strata.cli;

import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerLoader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code strata tokenize}: text to token ids and back. */
@Command(
        name = "tokenize",
        description = "Prints the token ids of a text as a JSON array, or the text of ids.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class TokenizeCommand implements Callable<Integer> {
    @Mixin
    private ModelFlags flags = new ModelFlags();

    @Parameters(arity = "0..1", paramLabel = "TEXT", description = "The text. Default: standard input.")
    private @Nullable String text;

    @Option(names = "--file", paramLabel = "FILE", description = "Read the text from a file.")
    private @Nullable Path file;

    @Option(names = "--special", description = "Control tokens written out in the text become their ids.")
    private boolean special;

    @Option(names = "--pieces", description = "Print every token on a line of its own with its text.")
    private boolean pieces;

    @Option(names = "--decode", description = "The text is a JSON array of ids; print their text.")
    private boolean decode;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws IOException {
        String input = input();
        PrintWriter out = spec.commandLine().getOut();
        try (ModelFiles files = ModelFileOpener.open(flags.path())) {
            Tokenizer tokenizer = TokenizerLoader.load(files);
            if (decode) {
                int[] ids = TokenArray.parse(input, "the text");
                TokenArray.check(ids, tokenizer.vocabularySize(), "the text");
                out.println(tokenizer.decode(ids));
                return 0;
            }
            List<Integer> ids = new ArrayList<>();
            for (int id : tokenizer.encode(input, special)) {
                ids.add(id);
                if (pieces) {
                    out.println(id + "\t" + JsonText.of(tokenizer.decode(id)));
                }
            }
            if (!pieces) {
                out.println(JsonText.of(ids));
            }
            out.flush();
        }
        return 0;
    }

    private String input() throws IOException {
        Path from = file;
        if (from != null) {
            return IoErrors.text(from);
        }
        String given = text;
        return given != null ? given : new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    }
}
