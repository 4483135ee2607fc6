package dev.strata.server.http;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Whose turn it is to write a stream: the event loop's, as at first, or anybody's while nothing is on its way through the pipeline. Nobody waits for it: who
 * does not get it leaves the work to the event loop. What one writes with the turn, the next one with it sees.
 */
final class Turn {
    private static final int LOOP = 0;
    /** The first to take it has it. */
    private static final int OPEN = 1;
    /** Some thread beside the event loop has it. */
    private static final int TAKEN = 2;
    /** The same, and the event loop is to have it next. */
    private static final int WANTED = 3;

    private final AtomicInteger state = new AtomicInteger(LOOP);

    /** Whether only the event loop may write now. */
    boolean isLoops() {
        return state.get() == LOOP;
    }

    /** For the event loop: true when it has the turn, which it keeps until {@link #open}; false when it has to be asked again, after {@link #giveBack}. */
    boolean claim() {
        int before = state.getAndUpdate(Turn::claimed);
        return before == LOOP || before == OPEN;
    }

    private static int claimed(int now) {
        return switch (now) {
            case OPEN -> LOOP;
            case TAKEN -> WANTED;
            default -> now;
        };
    }

    /** For the event loop, which has the turn: lets others have it. */
    void open() {
        state.set(OPEN);
    }

    /** For other threads: whether they have the turn now. */
    boolean take() {
        return state.compareAndSet(OPEN, TAKEN);
    }

    /** For the thread that took it: false when it is the event loop's now, which has to be asked to go on. */
    boolean giveBack() {
        boolean open = state.compareAndSet(TAKEN, OPEN);
        if (!open) {
            leave();
        }
        return open;
    }

    /** For the thread that took it: the event loop has to go on. */
    void leave() {
        state.set(LOOP);
    }
}
