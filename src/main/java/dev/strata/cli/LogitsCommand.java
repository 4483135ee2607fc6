package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.engine.LogitsRun;
import dev.strata.engine.ModelSession;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code strata logits}: float32 logits of every position of a text. */
@Command(
        name = "logits",
        description =
                "Writes the float32 logits of every position of a text, as tensor 'logits' of a safetensors file.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class LogitsCommand implements Callable<Integer> {
    @Mixin
    private ModelFlags flags = new ModelFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Option(
            names = "--tokens-file",
            required = true,
            paramLabel = "FILE",
            description = "The text: a JSON array of token ids.")
    private Path tokensFile = Path.of("");

    @Option(names = "--out", required = true, paramLabel = "FILE", description = "The safetensors file to write.")
    private Path out = Path.of("");

    @Option(names = "--chunk", paramLabel = "N", description = "Tokens read in one pass. Default: 512.")
    private int chunk = EngineOptions.DEFAULTS.chunk();

    @Option(
            names = "--deterministic",
            description = "Compute so that equal texts give equal bytes, wherever experts lie.")
    private boolean deterministic;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws IOException {
        int[] tokens = TokenArray.parse(IoErrors.text(tokensFile), tokensFile.toString());
        EngineOptions room = Requests.forOneText(tokens.length, chunk).withDeterministic(deterministic);
        Options options = tiers.addTo(flags.options(room, List.of()));
        try (ModelSession session = ModelSession.open(options)) {
            TokenArray.check(tokens, session.model().config().vocabulary(), tokensFile.toString());
            LogitsRun.write(session, tokens, chunk, out);
        }
        spec.commandLine().getOut().println(out + ": logits of " + tokens.length + " positions");
        return 0;
    }
}
