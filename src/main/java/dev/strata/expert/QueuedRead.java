package dev.strata.expert;

import java.util.Comparator;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * A request that waits for a reader. Those of a batch go one behind the other: were many batches served in turns, all of them would end at
 * the same time, and the drive would have nothing to do until the next ones come. Its result is what is left to do for who asked for it:
 * readers go on with the next request meanwhile.
 */
final class QueuedRead extends FutureTask<Runnable> implements Comparable<QueuedRead> {
    private static final Comparator<QueuedRead> ORDER =
            Comparator.<QueuedRead>comparingLong(read -> read.turn).thenComparingLong(read -> read.batch);

    private final long turn;
    private final long batch;
    private final Queue<QueuedRead> ended;

    /**
     * @param turn lower ones go first
     * @param batch number of the batch, which decides between those of one turn
     * @param ended takes it when it has been read, or has failed
     */
    QueuedRead(long turn, long batch, Callable<Runnable> work, Queue<QueuedRead> ended) {
        super(work);
        this.turn = turn;
        this.batch = batch;
        this.ended = ended;
    }

    @Override
    protected void done() {
        ended.add(this);
    }

    @Override
    public int compareTo(QueuedRead other) {
        return ORDER.compare(this, other);
    }
}
