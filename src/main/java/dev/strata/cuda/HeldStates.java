package dev.strata.cuda;

import java.util.ArrayList;
import java.util.List;

/** What {@link CudaOps#commit} replays: for every recurrent layer of the last held pass, how to advance the states of its segments. */
final class HeldStates {
    /** Advances the states by the first saved rows of every segment; {@code record} tells kernels how many. */
    interface Replay {
        void accept(CommitRecord record);
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
