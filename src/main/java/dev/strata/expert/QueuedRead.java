package dev.strata.expert;

import java.util.Comparator;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * A request that waits for a reader. Those of a batch go one behind the other: were many batches served in turns, all of them would end at
 * the same time, and the drive would have nothing to do until the next ones come.
 */
final class QueuedRead extends FutureTask<@Nullable Void> implements Comparable<QueuedRead> {
    private static final Comparator<QueuedRead> ORDER =
            Comparator.<QueuedRead>comparingLong(read -> read.turn).thenComparingLong(read -> read.batch);

    private final long turn;
    private final long batch;

    /**
     * @param turn lower ones go first
     * @param batch number of the batch, which decides between those of one turn
     */
    QueuedRead(long turn, long batch, Runnable work) {
        super(work, null);
        this.turn = turn;
        this.batch = batch;
    }

    @Override
    public int compareTo(QueuedRead other) {
        return ORDER.compare(this, other);
    }
}
