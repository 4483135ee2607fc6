package dev.strata.device.reference;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;

/** Splits ranges over threads; small ranges run on the caller. The split never changes a result: every item is computed whole. */
final class Workers implements AutoCloseable {
    /** Multiplications below which a range is not worth splitting. */
    private static final long INLINE_COST = 100_000;

    private static final int CHUNKS_PER_THREAD = 3;

    /** Work on the items {@code from} (inclusive) to {@code to} (exclusive). */
    interface Range {
        void run(int from, int to);
    }

    private final int threads;
    private final ForkJoinPool pool;

    Workers(int threads) {
        this.threads = threads;
        this.pool = new ForkJoinPool(threads);
    }

    int threads() {
        return threads;
    }

    /** Runs {@code body} over all {@code count} items and waits. {@code itemCost} is the number of multiplications of one item. */
    void range(int count, long itemCost, Range body) {
        if (threads == 1 || count < 2 || count * itemCost < INLINE_COST) {
            body.run(0, count);
            return;
        }
        int chunks = Math.min(count, threads * CHUNKS_PER_THREAD);
        List<ForkJoinTask<?>> tasks = new ArrayList<>(chunks);
        for (int i = 0; i < chunks; i++) {
            int from = (int) ((long) count * i / chunks);
            int to = (int) ((long) count * (i + 1) / chunks);
            tasks.add(pool.submit(() -> body.run(from, to)));
        }
        for (ForkJoinTask<?> task : tasks) {
            task.join();
        }
    }

    @Override
    public void close() {
        pool.close();
    }
}
