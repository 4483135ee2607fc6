package dev.strata.cpu;

import dev.strata.device.HostBuffer;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Experts that lie in no addressable memory, in two halves of a ring in RAM: one half is read while products of the other run. */
final class ExpertRing implements AutoCloseable {
    private static final long BYTES = 256L << 20;
    private static final int BATCHES = 4;
    private static final int LEAST_BATCH = 8;

    private HostBuffer memory = HostBuffer.of(MemorySegment.NULL);
    private @Nullable ExecutorService reader;

    /** Experts of one read and where their blobs go. */
    private record Batch(int[] experts, MemorySegment[] blobs) {}

    /**
     * Runs {@code products} once for every batch of {@code experts}, which are then among the staged ones of {@code table}.
     *
     * @param experts ascending
     * @param meanwhile work that needs none of them, done while the first batch is read
     * @throws java.io.UncheckedIOException when a blob cannot be read
     */
    void run(ExpertTable table, int[] experts, Runnable meanwhile, Runnable products) {
        long blob = (table.layout().blobBytes() + 63) / 64 * 64;
        if (memory.bytes() < 2 * blob) {
            memory.close();
            memory = HugePages.allocate(Math.max(BYTES, 2 * blob), "ring of experts");
        }
        int half = (int) Math.min(memory.bytes() / 2 / blob, experts.length);
        int room = Math.min(half, Math.max(LEAST_BATCH, Math.ceilDiv(experts.length, BATCHES)));
        Future<?> reading = null;
        try {
            Batch now = batch(experts, 0, room, 0, blob);
            reading = read(table, now);
            meanwhile.run();
            for (int from = room; now != null; from += room) {
                await(reading);
                Batch later = from < experts.length ? batch(experts, from, room, from / room % 2 * half, blob) : null;
                reading = later == null ? null : read(table, later);
                for (int i = 0; i < now.experts.length; i++) {
                    table.enter(now.experts[i], now.blobs[i]);
                }
                products.run();
                for (int expert : now.experts) {
                    table.staged().remove(expert);
                }
                now = later;
            }
        } catch (RuntimeException | Error failed) {
            for (int expert : experts) {
                table.staged().remove(expert);
            }
            throw failed;
        } finally {
            settle(reading);
        }
    }

    private Batch batch(int[] experts, int from, int room, int place, long blob) {
        int count = Math.min(room, experts.length - from);
        int[] some = java.util.Arrays.copyOfRange(experts, from, from + count);
        MemorySegment[] blobs = new MemorySegment[count];
        for (int i = 0; i < count; i++) {
            blobs[i] = memory.host().asSlice((place + i) * blob, blob);
        }
        return new Batch(some, blobs);
    }

    private Future<?> read(ExpertTable table, Batch batch) {
        ExecutorService thread = reader;
        if (thread == null) {
            thread = Executors.newSingleThreadExecutor(
                    Thread.ofPlatform().daemon().name("expert-ring").factory());
            reader = thread;
        }
        return thread.submit(() -> table.read(batch.experts, batch.experts.length, batch.blobs));
    }

    private static void await(@Nullable Future<?> reading) {
        if (reading == null) {
            return;
        }
        try {
            reading.get();
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("waiting for experts was interrupted", stop);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException("reading experts failed", failed);
        }
    }

    /** The ring is in use until a read has ended, however the products did. */
    private static void settle(@Nullable Future<?> reading) {
        while (reading != null && !reading.isDone()) {
            try {
                reading.get();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return;
            } catch (ExecutionException failed) {
                return;
            }
        }
    }

    @Override
    public void close() {
        if (reader != null) {
            reader.close();
        }
        memory.close();
    }
}
