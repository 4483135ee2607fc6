package dev.strata.model.ngram;

import dev.strata.os.BlockFile;
import dev.strata.os.HostPages;
import dev.strata.os.Unreadable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Reads rows that lie all over files: those in the same blocks as one request, up to {@value #MOST_READS} requests at the same time. A
 * failed read is tried once more; a file that changed is reported and never served.
 */
final class RowReader implements AutoCloseable {
    /** Reads in flight at most. */
    static final int MOST_READS = 256;

    private static final int REQUEST_BYTES = 64 << 10;
    private static final int INDEX_BITS = 24;

    /** Rows of the table in a file: {@code rows} of them from {@code offset} on. */
    record Shard(int file, long offset, long rows) {}

    /** Takes rows as they come, on any thread. */
    interface Sink {
        void row(long row, int index, MemorySegment bytes, long offset);
    }

    private final List<Path> paths;
    private final List<BlockFile> files;
    private final List<Object> stamps = new ArrayList<>();
    private final List<Shard> shards;
    private final int rowBytes;
    private final ThreadPoolExecutor pool;
    private final HostPages memory;
    private final BlockingQueue<MemorySegment> buffers = new ArrayBlockingQueue<>(MOST_READS);
    private final RowCounters counters = new RowCounters();

    private RowReader(List<Path> paths, List<BlockFile> files, List<Shard> shards, int rowBytes) {
        this.paths = List.copyOf(paths);
        this.files = List.copyOf(files);
        this.shards = List.copyOf(shards);
        this.rowBytes = rowBytes;
        pool = new ThreadPoolExecutor(
                MOST_READS,
                MOST_READS,
                10,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("ngram-reader-", 0).factory());
        pool.allowCoreThreadTimeOut(true);
        int unit = files.stream().mapToInt(BlockFile::alignment).max().orElse(1);
        int size = REQUEST_BYTES + 2 * Math.max(unit, rowBytes);
        size = Math.ceilDiv(size, HostPages.SMALL_PAGE) * HostPages.SMALL_PAGE;
        memory = HostPages.allocate((long) size * MOST_READS, "n-gram read buffers");
        for (int i = 0; i < MOST_READS; i++) {
            buffers.add(memory.memory().asSlice((long) i * size, size));
        }
    }

    /** Takes opened files over. */
    static RowReader of(List<Path> paths, List<BlockFile> files, List<Shard> shards, int rowBytes) throws IOException {
        RowReader reader = new RowReader(paths, files, shards, rowBytes);
        for (BlockFile file : files) {
            reader.stamps.add(file.stamp());
        }
        return reader;
    }

    RowCounters counters() {
        return counters;
    }

    /** A row and the place in the caller's list that wants it, sortable by row. */
    static long key(long row, int index) {
        return row << INDEX_BITS | index;
    }

    /** Most rows of one {@link #read}. */
    static int mostRows() {
        return 1 << INDEX_BITS;
    }

    /**
     * Reads rows.
     *
     * @param keys of {@link #key}, in any order
     * @param shared whether the sink may be called by other threads
     * @throws UncheckedIOException naming file and offset
     */
    void read(long[] keys, boolean shared, Sink sink) {
        if (keys.length == 0) {
            return;
        }
        long[] sorted = keys.clone();
        Arrays.parallelSort(sorted);
        int[] starts = requests(sorted);
        BitSet touched = touched(sorted, starts);
        checkStamps(touched);
        int count = starts.length - 1;
        AtomicInteger next = new AtomicInteger();
        AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
        Runnable work = () -> {
            int request;
            while (failure.get() == null && (request = next.getAndIncrement()) < count) {
                try {
                    serve(sorted, starts[request], starts[request + 1], sink);
                } catch (RuntimeException failed) {
                    failure.compareAndSet(null, failed);
                }
            }
        };
        int helpers = shared ? Math.min(MOST_READS, count) - 1 : 0;
        CountDownLatch done = new CountDownLatch(helpers);
        for (int i = 0; i < helpers; i++) {
            pool.execute(() -> {
                try {
                    work.run();
                } finally {
                    done.countDown();
                }
            });
        }
        work.run();
        await(done);
        RuntimeException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        checkStamps(touched);
    }

    private static void await(CountDownLatch done) {
        boolean interrupted = false;
        while (true) {
            try {
                done.await();
                break;
            } catch (InterruptedException stop) {
                // The sink's memory is in use until the readers are done.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Where requests start in the sorted keys, and the end: rows whose blocks touch are read together. */
    private int[] requests(long[] sorted) {
        int[] starts = new int[sorted.length + 1];
        int count = 0;
        int shard = -1;
        long from = 0;
        long end = 0;
        for (int i = 0; i < sorted.length; i++) {
            long row = sorted[i] >> INDEX_BITS;
            int at = shard(row);
            long position = position(at, row);
            int unit = files.get(shards.get(at).file()).alignment();
            boolean joins = at == shard && position / unit <= (end - 1) / unit + 1 && position - from < REQUEST_BYTES;
            if (!joins) {
                starts[count++] = i;
                shard = at;
                from = position;
            }
            end = position + rowBytes;
        }
        starts[count] = sorted.length;
        return Arrays.copyOf(starts, count + 1);
    }

    private BitSet touched(long[] sorted, int[] starts) {
        BitSet touched = new BitSet();
        for (int i = 0; i + 1 < starts.length; i++) {
            touched.set(shards.get(shard(sorted[starts[i]] >> INDEX_BITS)).file());
        }
        return touched;
    }

    private int shard(long row) {
        return (int) (row / shards.getFirst().rows());
    }

    private long position(int shard, long row) {
        return shards.get(shard).offset() + (row - shard * shards.getFirst().rows()) * rowBytes;
    }

    private void checkStamps(BitSet touched) {
        for (int file = touched.nextSetBit(0); file >= 0; file = touched.nextSetBit(file + 1)) {
            try {
                if (!files.get(file).stamp().equals(stamps.get(file))) {
                    throw Unreadable.because(paths.get(file)
                            + " changed while it was served: restart the server with an unchanged file");
                }
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }

    private void serve(long[] sorted, int first, int last, Sink sink) {
        long row = sorted[first] >> INDEX_BITS;
        int shard = shard(row);
        int number = shards.get(shard).file();
        BlockFile file = files.get(number);
        long unit = file.alignment();
        long from = position(shard, row) / unit * unit;
        long end = position(shard, sorted[last - 1] >> INDEX_BITS) + rowBytes;
        MemorySegment buffer;
        try {
            buffer = buffers.take();
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw Unreadable.because("reading n-gram rows was interrupted");
        }
        try {
            long length = Math.ceilDiv(end - from, unit) * unit;
            counters.begin();
            try {
                fill(file, number, buffer.asSlice(0, length), from, end - from);
            } finally {
                counters.end(length, file.isDirect());
            }
            for (int i = first; i < last; i++) {
                long wanted = sorted[i] >> INDEX_BITS;
                int index = (int) (sorted[i] & mostRows() - 1);
                sink.row(wanted, index, buffer, position(shard, wanted) - from);
            }
        } finally {
            buffers.add(buffer);
        }
    }

    private void fill(BlockFile file, int number, MemorySegment target, long from, long needed) {
        long unit = file.alignment();
        long done = 0;
        String reason = "";
        for (int tries = 0; tries < 2; ) {
            try {
                int got = file.read(target.asSlice(done), from + done);
                if (got > 0 && done + got >= needed) {
                    return;
                }
                long whole = got > 0 ? (done + got) / unit * unit : done;
                tries = whole > done ? 0 : tries + 1;
                done = whole;
                reason = "the file ends early";
            } catch (IOException failed) {
                reason = failed.toString();
                tries++;
            }
        }
        throw Unreadable.because(paths.get(number) + ": reading " + (needed - done)
                + " bytes of the n-gram table at offset " + (from + done) + " failed: " + reason);
    }

    @Override
    public void close() {
        pool.shutdownNow();
        try {
            if (!pool.awaitTermination(10, TimeUnit.SECONDS)) {
                throw new IllegalStateException("readers of the n-gram table do not end");
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        memory.close();
        for (BlockFile file : files) {
            try {
                file.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }
}
