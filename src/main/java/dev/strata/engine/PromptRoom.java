package dev.strata.engine;

import dev.strata.decode.PlacementSettings;
import dev.strata.decode.PromptLoan;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.DeviceException;
import dev.strata.device.PromptMemory;
import dev.strata.model.Model;
import dev.strata.model.ModelOptions;
import dev.strata.prefill.ChunkSetting;
import java.lang.foreign.Arena;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the memory of passes grow to its size before the expert cache takes the rest. With {@code --prefill} the activations of prompts
 * are measured instead, so that they can lie in memory that the cache lends.
 */
final class PromptRoom {
    private static final Logger LOG = LoggerFactory.getLogger(PromptRoom.class);

    /** With passes that stream from fewer rows on, steps would borrow too: nothing is lent but the ring then. */
    private static final int LEAST_STREAMED = 64;

    private final @Nullable PromptMemory memory;
    private final ChunkSetting setting;
    private final int streamFrom;
    private int mostRows;

    private PromptRoom(@Nullable PromptMemory memory, ChunkSetting setting, int streamFrom, int mostRows) {
        this.memory = memory;
        this.setting = setting;
        this.streamFrom = streamFrom;
        this.mostRows = mostRows;
    }

    /**
     * Before the model is loaded.
     *
     * @param setting what was asked for with {@code --prefill}, or null
     */
    static PromptRoom prepare(
            Backend backend, ModelOptions room, @Nullable ChunkSetting setting, PlacementSettings placement) {
        int rows = (int) Math.min(room.maxRows(), (long) room.pages() * Batch.PAGE);
        PromptMemory memory = backend.promptMemory().orElse(null);
        if (setting == null
                || memory == null
                || rows <= placement.streamFrom()
                || placement.streamFrom() < LEAST_STREAMED) {
            return new PromptRoom(null, new ChunkSetting(OptionalInt.of(rows), rows), placement.streamFrom(), rows);
        }
        memory.separate(placement.streamFrom() - 1, room.maxRows());
        return new PromptRoom(memory, setting, placement.streamFrom(), rows);
    }

    /** Runs passes without experts: of many rows, of the most that have memory of their own, then a small one. */
    void warm(Model model) {
        if (memory == null) {
            run(model, mostRows);
        } else {
            measure(memory, model);
            run(model, streamFrom - 1);
        }
        run(model, 1);
    }

    private void measure(PromptMemory measured, Model model) {
        measured.measure(streamFrom);
        run(model, streamFrom);
        while (true) {
            try {
                measured.measure(mostRows);
                run(model, mostRows);
                measured.measured();
                return;
            } catch (DeviceException refused) {
                measured.measured();
                if (refused.kind() != DeviceException.Kind.OUT_OF_MEMORY || mostRows / 2 <= streamFrom) {
                    throw refused;
                }
                mostRows /= 2;
                LOG.info("prefill: the card has no room for larger passes than {} tokens", mostRows);
            }
        }
    }

    private static void run(Model model, int rows) {
        Batch batch = SingleText.batch(new int[rows], 0, rows, SingleText.pages(rows));
        try (Arena arena = Arena.ofConfined()) {
            model.forward(
                    batch,
                    new int[] {rows - 1},
                    arena.allocate(4L * model.config().vocabulary(), 64));
        }
        model.clearSlot(0);
    }

    /** What the placement has to lend. */
    PlacementSettings settings(PlacementSettings plain) {
        PromptMemory measured = memory;
        if (measured == null) {
            return plain;
        }
        OptionalInt chunk = setting.chunk().isPresent()
                ? OptionalInt.of(Math.min(setting.chunk().getAsInt(), mostRows))
                : OptionalInt.empty();
        return plain.withLoan(
                new PromptLoan(new ChunkSetting(chunk, Math.min(setting.most(), mostRows)), measured::bytes));
    }

    /** Lays out what was planned; returns the rows of a pass, 0 when they were not planned. */
    int layOut(int planned) {
        if (memory == null) {
            return 0;
        }
        memory.layOut(planned);
        return planned;
    }
}
