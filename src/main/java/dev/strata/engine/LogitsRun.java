package dev.strata.engine;

import dev.strata.format.safetensors.SafetensorsWriter;
import dev.strata.model.Model;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Reads one text and keeps the logits of all its positions. */
public final class LogitsRun {
    private LogitsRun() {}

    /** Receives the logits of consecutive positions. */
    @FunctionalInterface
    interface Sink {
        /** @param logits float32 [rows, vocabulary], valid during the call */
        void rows(MemorySegment logits, int rows) throws IOException;
    }

    /**
     * Writes tensor {@code logits} [tokens, vocabulary] in float32.
     *
     * @throws IllegalArgumentException when a token is not in the vocabulary
     */
    public static void write(ModelSession session, int[] tokens, int chunk, Path target) throws IOException {
        int vocabulary = session.model().config().vocabulary();
        try (SafetensorsWriter writer =
                SafetensorsWriter.open(target, "logits", List.of((long) tokens.length, (long) vocabulary))) {
            run(session.model(), tokens, chunk, (logits, rows) -> writer.write(logits));
        }
    }

    static void run(Model model, int[] tokens, int chunk, Sink sink) throws IOException {
        int vocabulary = model.config().vocabulary();
        for (int token : tokens) {
            if (token < 0 || token >= vocabulary) {
                throw new IllegalArgumentException("token " + token + " is not in the vocabulary of " + vocabulary);
            }
        }
        int[] pages = SingleText.pages(tokens.length);
        int most = Math.min(chunk, model.maxRows());
        model.clearSlot(0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * Math.min(most, tokens.length) * vocabulary, 64);
            for (int past = 0; past < tokens.length; past += most) {
                int rows = Math.min(most, tokens.length - past);
                int[] wanted = new int[rows];
                Arrays.setAll(wanted, i -> i);
                model.forward(SingleText.batch(tokens, past, rows, pages), wanted, logits);
                sink.rows(logits.asSlice(0, 4L * rows * vocabulary), rows);
            }
        }
    }
}
