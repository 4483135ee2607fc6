package dev.strata.expert;

import dev.strata.device.ExpertSource;
import dev.strata.memory.Bytes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fills an arena from another source with parallel reads of neighbouring blobs, layer after layer. */
public final class ArenaLoader {
    private static final Logger LOG = LoggerFactory.getLogger(ArenaLoader.class);

    /** Bytes that one task reads. */
    private static final long TASK_BYTES = 32 << 20;

    private record Task(int layer, int first, int count) {}

    private final ExpertSource source;
    private final ExpertArena arena;
    private final LoadProgress progress;
    private final IntConsumer loaded;
    private final List<Task> tasks = new ArrayList<>();
    private final AtomicInteger[] left;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicLong done = new AtomicLong();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final long start = System.nanoTime();

    private ArenaLoader(ExpertSource source, ExpertArena arena, LoadProgress progress, IntConsumer loaded) {
        this.source = source;
        this.arena = arena;
        this.progress = progress;
        this.loaded = loaded;
        ArenaLayout layout = arena.arenaLayout();
        left = new AtomicInteger[layout.layers()];
        for (int layer = 0; layer < left.length; layer++) {
            int size = Math.clamp(TASK_BYTES / layout.stride(layer), 1, layout.experts(layer));
            left[layer] = new AtomicInteger(Math.ceilDiv(layout.experts(layer), size));
            for (int first = 0; first < layout.experts(layer); first += size) {
                tasks.add(new Task(layer, first, Math.min(size, layout.experts(layer) - first)));
            }
        }
    }

    /**
     * Copies every blob of {@code source} into {@code arena}.
     *
     * @param threads readers
     * @param loaded hears of every layer that is complete, on one of the reader threads; layers may complete out of order
     * @throws java.io.UncheckedIOException as the source throws it; the arena is unusable then
     */
    public static void fill(
            ExpertSource source, ExpertArena arena, int threads, LoadProgress progress, IntConsumer loaded) {
        new ArenaLoader(source, arena, progress, loaded).run(threads);
    }

    private void run(int threads) {
        List<Thread> readers = new ArrayList<>();
        for (int i = 0; i < Math.min(threads, tasks.size()); i++) {
            readers.add(Thread.ofPlatform().daemon().name("arena-reader-" + i).start(this::read));
        }
        for (Thread reader : readers) {
            join(reader);
        }
        Throwable failed = failure.get();
        if (failed instanceof RuntimeException exception) {
            throw exception;
        }
        if (failed != null) {
            throw new IllegalStateException("loading the expert arena failed", failed);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        LOG.info(String.format(
                Locale.ROOT,
                "arena: %s loaded in %.1f s (%.2f GiB/s) into %s",
                Bytes.text(done.get()),
                seconds,
                done.get() / (double) Bytes.GIB / seconds,
                arena.pageKind()));
    }

    private void read() {
        while (failure.get() == null) {
            int index = next.getAndIncrement();
            if (index >= tasks.size()) {
                return;
            }
            Task task = tasks.get(index);
            try {
                MemorySegment[] targets = new MemorySegment[task.count];
                for (int i = 0; i < task.count; i++) {
                    targets[i] = arena.blob(task.layer, task.first + i);
                }
                source.copyBlobs(task.layer, task.first, task.count, targets);
                long bytes = task.count * source.layout(task.layer).blobBytes();
                progress.advance(done.addAndGet(bytes), source.totalBytes(), (System.nanoTime() - start) / 1e9);
                if (left[task.layer].decrementAndGet() == 0) {
                    loaded.accept(task.layer);
                }
            } catch (RuntimeException | Error failed) {
                failure.compareAndSet(null, failed);
            }
        }
    }

    private void join(Thread reader) {
        try {
            reader.join();
        } catch (InterruptedException stop) {
            failure.compareAndSet(null, new IllegalStateException("loading was interrupted"));
            Thread.currentThread().interrupt();
        }
    }
}
