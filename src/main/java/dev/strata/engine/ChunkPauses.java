package dev.strata.engine;

import dev.strata.model.Model;
import java.util.function.BooleanSupplier;

/** Steps between the layers of a chunk: as soon as decoding is owed the time of one, it gets it. Used by the step loop alone. */
final class ChunkPauses implements Model.Pause {
    private final Balance balance;
    private final BooleanSupplier step;
    private final int mostRows;
    private boolean open;
    private long since;
    private long spent;

    /**
     * @param step runs one step; false when there is none to run before the chunk has ended
     * @param mostRows most rows of a step
     */
    ChunkPauses(Balance balance, BooleanSupplier step, int mostRows) {
        this.balance = balance;
        this.step = step;
        this.mostRows = mostRows;
    }

    /**
     * A chunk begins.
     *
     * @param decoding whether there are sequences that decode
     */
    void begin(long now, boolean decoding) {
        open = decoding;
        since = now;
        spent = 0;
    }

    /** The chunk has ended; returns the nanoseconds of it that were not its own. */
    long end(long now) {
        open = false;
        balance.didRead(now - since);
        return spent;
    }

    @Override
    public int mostRows() {
        return mostRows;
    }

    @Override
    public boolean due() {
        if (!open) {
            return false;
        }
        long now = System.nanoTime();
        balance.didRead(now - since);
        since = now;
        return balance.owesStep();
    }

    @Override
    public void run() {
        while (open && balance.owesStep()) {
            open = step.getAsBoolean();
        }
        long now = System.nanoTime();
        spent += now - since;
        since = now;
    }
}
