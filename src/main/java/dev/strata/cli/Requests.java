package dev.strata.cli;

import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.device.KvFormat;

/** Engine options of commands that read single texts. */
final class Requests {
    private Requests() {}

    /** Room for one text of {@code tokens} tokens and nothing else. */
    static EngineOptions forOneText(int tokens, int chunk) {
        return new EngineOptions(
                BackendChoice.AUTO,
                0,
                KvFormat.F16,
                Math.max(1, tokens),
                1,
                Math.max(1, Math.min(chunk, tokens)),
                1,
                0,
                2048,
                0,
                EngineOptions.Speculation.OFF,
                false);
    }
}
