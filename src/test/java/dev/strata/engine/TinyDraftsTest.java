package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.device.KvFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Speculation with the draft layer of strata-tiny, through the engine: the passes that its card names, and the same text without it. */
class TinyDraftsTest {
    private static final Path OWN = Path.of("models/strata-tiny");
    private static final Path SHARED = Path.of("../shared/models/strata-tiny");

    @Test
    void draftsSaveThePassesThatTheCardNames() throws IOException {
        // The file that comes with Strata has fewer bits than the weights that the card was made with.
        boolean own = !Files.isDirectory(SHARED);
        Path folder = own ? OWN : SHARED;
        assumeTrue(Files.isDirectory(folder), "neither " + SHARED + " nor " + OWN + " is there");
        Path model = own ? OWN.resolve("strata-tiny.gguf") : folder;
        Path golden = folder.resolve("golden-chat.json");
        GoldenRounds.Round plain = run(model, golden, EngineOptions.Speculation.OFF);
        GoldenRounds.Round drafted = run(model, golden, new EngineOptions.Speculation(true, 5, 0.5f, 0));
        assertEquals(plain.answers(), drafted.answers());
        // The card counts all tokens of the answers, the first ones too, which come with their prompts.
        double tokensAPass = drafted.tokens() / (double) drafted.passes();
        System.out.printf(
                Locale.ROOT,
                "strata-tiny: %d passes, %.2f tokens a pass, %.0f ms without and %.0f ms with drafts%n",
                drafted.passes(),
                tokensAPass,
                plain.millis(),
                drafted.millis());
        assertEquals(74, drafted.passes(), own ? 4 : 1, tokensAPass + " tokens a pass");
        assertEquals(3.32, tokensAPass, own ? 0.2 : 0.05);
    }

    private static GoldenRounds.Round run(Path model, Path golden, EngineOptions.Speculation speculation)
            throws IOException {
        return GoldenRounds.run(model, golden, GoldenRounds.options(BackendChoice.AUTO, KvFormat.F32, speculation), 1)
                .bestRound();
    }
}
