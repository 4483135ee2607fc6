package dev.strata.cpu;

import dev.strata.device.BlobParts;
import dev.strata.device.HostBuffer;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
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

    /**
     * Experts of one read and where their blobs go.
     *
     * @param stays whether that is their place from now on
     * @param parts where their parts lie there, once read; null when they are whole
     */
    private record Batch(int[] experts, MemorySegment[] blobs, boolean[] stays, BlobParts @Nullable [] parts) {
        void enter(ExpertTable table) {
            for (int i = 0; i < experts.length; i++) {
                table.enter(experts[i], blobs[i], parts == null ? null : parts[i]);
            }
        }

        void settle(ExpertTable table, boolean read) {
            for (int i = 0; i < experts.length; i++) {
                if (stays[i]) {
                    table.settle(experts[i], read);
                }
            }
        }
    }

    /**
     * Runs {@code products} once for every batch of {@code experts}, which are then among the staged ones of {@code table}.
     *
     * @param experts ascending
     * @param admit whether the source may keep them
     * @param meanwhile work that needs none of them, done while the first batch is read
     * @throws java.io.UncheckedIOException when a blob cannot be read
     */
    void run(ExpertTable table, int[] experts, boolean admit, Runnable meanwhile, Runnable products) {
        long blob = (table.readBytes() + 63) / 64 * 64;
        if (memory.bytes() < 2 * blob) {
            memory.close();
            memory = HugePages.allocate(Math.max(BYTES, 2 * blob), "ring of experts");
        }
        int half = (int) Math.min(memory.bytes() / 2 / blob, experts.length);
        int room = Math.min(half, Math.max(LEAST_BATCH, Math.ceilDiv(experts.length, BATCHES)));
        Future<?> reading = null;
        Batch coming = null;
        try {
            Batch now = batch(table, experts, 0, room, 0, blob, admit);
            coming = now;
            reading = read(table, now);
            meanwhile.run();
            for (int from = room; now != null; from += room) {
                long start = System.nanoTime();
                await(reading);
                table.waited(System.nanoTime() - start);
                now.settle(table, true);
                coming = null;
                Batch later = from < experts.length
                        ? batch(table, experts, from, room, from / room % 2 * half, blob, admit)
                        : null;
                coming = later;
                reading = later == null ? null : read(table, later);
                now.enter(table);
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
            if (coming != null) {
                coming.settle(table, false);
            }
        }
    }

    private Batch batch(ExpertTable table, int[] experts, int from, int room, int place, long blob, boolean admit) {
        int count = Math.min(room, experts.length - from);
        int[] some = Arrays.copyOfRange(experts, from, from + count);
        MemorySegment[] blobs = new MemorySegment[count];
        boolean[] stays = new boolean[count];
        boolean whole = false;
        for (int i = 0; i < count; i++) {
            MemorySegment kept = admit ? table.admit(some[i]) : null;
            stays[i] = kept != null;
            whole |= stays[i];
            blobs[i] = kept != null ? kept : memory.host().asSlice((place + i) * blob, blob);
        }
        return new Batch(some, blobs, stays, whole ? null : parts(count));
    }

    private static BlobParts[] parts(int count) {
        BlobParts[] parts = new BlobParts[count];
        Arrays.setAll(parts, i -> new BlobParts());
        return parts;
    }

    private Future<?> read(ExpertTable table, Batch batch) {
        ExecutorService thread = reader;
        if (thread == null) {
            thread = Executors.newSingleThreadExecutor(
                    Thread.ofPlatform().daemon().name("expert-ring").factory());
            reader = thread;
        }
        return thread.submit(() -> table.read(batch.experts, batch.blobs, batch.parts));
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

    /** The ring, and the places of experts that stay, are in use until a read has ended, however the products did. */
    private static void settle(@Nullable Future<?> reading) {
        boolean interrupted = false;
        while (reading != null && !reading.isDone()) {
            try {
                reading.get();
            } catch (InterruptedException stop) {
                interrupted = true;
            } catch (ExecutionException failed) {
                break;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
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
