package dev.strata.cli;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.device.KvFormat;

/** Engine options of commands that read single texts. */
final class Requests {
    private Requests() {}

    /** Room for one text of {@code tokens} tokens and nothing else. */
    static EngineOptions forOneText(int tokens, int chunk) {
        return oneAtATime(Math.max(1, tokens), Math.max(1, Math.min(chunk, tokens)));
    }

    /** One sequence of {@code tokens} tokens at most, without cached texts and guesses. */
    static EngineOptions oneAtATime(int tokens, int chunk) {
        return new EngineOptions(
                BackendChoice.AUTO,
                0,
                KvFormat.F16,
                tokens,
                1,
                chunk,
                1,
                0,
                2048,
                0,
                EngineOptions.Speculation.OFF,
                false);
    }
}
