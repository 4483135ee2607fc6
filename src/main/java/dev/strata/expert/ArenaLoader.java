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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fills an arena from another source with parallel reads of neighbouring blobs, layer after layer. */
public final class ArenaLoader {
    private static final Logger LOG = LoggerFactory.getLogger(ArenaLoader.class);

    /** Bytes that one task reads: enough for large requests, and so little that many of them run at the same time. */
    private static final long TASK_BYTES = 8 << 20;

    private record Task(int layer, int first, int count) {}

    private final ExpertSource source;
    private final ExpertArena arena;
    private final LoadProgress progress;
    private final LayerGate gate;
    private final List<Task> tasks = new ArrayList<>();
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicLong done = new AtomicLong();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final long start = System.nanoTime();

    private ArenaLoader(ExpertSource source, ExpertArena arena, LoadProgress progress, LayerGate gate) {
        this.source = source;
        this.arena = arena;
        this.progress = progress;
        this.gate = gate;
        ArenaLayout layout = arena.arenaLayout();
        for (int layer = 0; layer < layout.layers(); layer++) {
            int size = Math.clamp(TASK_BYTES / layout.stride(layer), 1, layout.experts(layer));
            for (int first = 0; first < layout.experts(layer); first += size) {
                tasks.add(new Task(layer, first, Math.min(size, layout.experts(layer) - first)));
            }
        }
    }

    /**
     * Copies every blob of {@code source} into {@code arena}.
     *
     * @param threads readers
     * @param gate what readers pass before they write
     * @throws java.io.UncheckedIOException as the source throws it; the arena is unusable then
     */
    public static void fill(
            ExpertSource source, ExpertArena arena, int threads, LoadProgress progress, LayerGate gate) {
        new ArenaLoader(source, arena, progress, gate).run(threads);
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
        if (failed != null) {
            gate.giveUp();
        }
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
                gate.enter(task.layer);
                MemorySegment[] targets = new MemorySegment[task.count];
                for (int i = 0; i < task.count; i++) {
                    targets[i] = arena.blob(task.layer, task.first + i);
                }
                source.copyBlobs(task.layer, task.first, task.count, targets);
                long bytes = task.count * source.layout(task.layer).blobBytes();
                progress.advance(done.addAndGet(bytes), source.totalBytes(), (System.nanoTime() - start) / 1e9);
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
