package dev.strata.model;

import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the table rows of a prompt's next chunk on a thread of its own while the device computes the one before. What was read counts
 * only when the next chunk wants the very same rows. One thread uses it.
 */
final class NgramAhead implements AutoCloseable {
    private final NgramTable table;
    private final Supplier<MemorySegment> allocate;
    private @Nullable MemorySegment memory;
    private @Nullable ExecutorService thread;
    private @Nullable Future<?> reading;
    private long[] rows = new long[0];
    private int[] tokens = new int[0];
    private int next;

    /** @param allocate memory for the rows of the largest pass; asked once, when the first chunk is read ahead */
    NgramAhead(NgramTable table, Supplier<MemorySegment> allocate) {
        this.table = table;
        this.allocate = allocate;
    }

    /** A prompt's chunks from {@code from} on will come. */
    void expect(int[] text, int from, int to) {
        tokens = Arrays.copyOf(text, to);
        next = from;
    }

    /** A chunk of {@code count} rows was read: starts with the one behind it, if there is one. */
    void start(NgramRows hash, int count) {
        settle();
        int end = Math.min(next + count, tokens.length);
        if (next >= end) {
            tokens = new int[0];
            return;
        }
        long[] wanted = hash.of(tokens, next, end);
        next = end;
        MemorySegment target = memory == null ? allocate.get() : memory;
        memory = target;
        ExecutorService on = thread == null ? newThread() : thread;
        thread = on;
        rows = wanted;
        reading = on.submit(() -> table.readAhead(wanted, wanted.length, target));
    }

    private static ExecutorService newThread() {
        return Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name("ngram-chunk").factory());
    }

    /** Where exactly {@code wanted} was read to, after waiting for it; null when it was not, or failed: whoever reads it again reports it. */
    @Nullable
    MemorySegment take(long[] wanted) {
        Future<?> now = reading;
        reading = null;
        if (now == null) {
            return null;
        }
        long start = System.nanoTime();
        boolean read = await(now);
        table.waited(System.nanoTime() - start);
        return read && Arrays.equals(rows, wanted) ? memory : null;
    }

    private void settle() {
        Future<?> now = reading;
        reading = null;
        if (now != null) {
            await(now);
        }
    }

    private static boolean await(Future<?> running) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    running.get();
                    return true;
                } catch (InterruptedException stop) {
                    // The thread writes into the memory until it is done.
                    interrupted = true;
                } catch (ExecutionException failed) {
                    return false;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        settle();
        if (thread != null) {
            thread.close();
        }
    }

    /** Rows of the table by position. */
    @FunctionalInterface
    interface NgramRows {
        long[] of(int[] tokens, int from, int to);
    }
}
