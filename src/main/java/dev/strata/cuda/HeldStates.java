package dev.strata.cuda;

import java.util.ArrayList;
import java.util.List;

/** What {@link CudaOps#commit} replays: for every recurrent layer of the last held pass, how to advance one slot. */
final class HeldStates {
    /** Advances the state of {@code slot} by the first {@code accepted} saved rows; {@code record} describes that one segment to kernels. */
    interface Replay {
        void accept(CommitRecord record, int slot, int accepted);
    }

    private List<Replay> replays = new ArrayList<>();

    /** A held pass begins to be issued or captured. */
    void begin() {
        replays = new ArrayList<>();
    }

    void add(Replay replay) {
        replays.add(replay);
    }

    /** Those of the last held pass. */
    List<Replay> replays() {
        return replays;
    }

    /** A captured held pass was replayed. */
    void restore(List<Replay> captured) {
        replays = captured;
    }
}
