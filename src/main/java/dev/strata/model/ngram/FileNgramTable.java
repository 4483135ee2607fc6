package dev.strata.model.ngram;

import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** A table read from its files a row at a time, past the page cache where that is allowed, with a cache of rows. */
public final class FileNgramTable implements NgramTable {
    /** Rows kept at most. */
    public static final int CACHED_ROWS = 1 << 20;

    private static final long CACHED_BYTES = 256L << 20;
    private static final int AHEAD_ROWS = 4096;

    private final RowFormat format;
    private final RowReader reader;
    private final RowCache cache;
    private final long rows;
    private final ExecutorService ahead = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name("ngram-ahead").factory());
    private volatile boolean closed;

    private FileNgramTable(RowFormat format, RowReader reader, RowCache cache, long rows) {
        this.format = format;
        this.reader = reader;
        this.cache = cache;
        this.rows = rows;
    }

    /**
     * Consecutive rows of the table.
     *
     * @param bytes a multiple of a row's
     */
    public record Part(Path file, long offset, long bytes) {}

    /**
     * Opens the files.
     *
     * @param parts of equal length, but for the last
     */
    public static FileNgramTable open(List<Part> parts, RowFormat format) {
        List<Path> paths = parts.stream().map(Part::file).distinct().toList();
        return BlockFiles.open(paths, true, files -> over(paths, files, parts, format));
    }

    /** Reads from files that were opened already. */
    static FileNgramTable over(List<Path> paths, List<BlockFile> files, List<Part> parts, RowFormat format)
            throws IOException {
        List<RowReader.Shard> shards = parts.stream()
                .map(part ->
                        new RowReader.Shard(paths.indexOf(part.file()), part.offset(), part.bytes() / format.bytes()))
                .toList();
        long rows = shards.stream().mapToLong(RowReader.Shard::rows).sum();
        int kept = (int) Math.min(Math.min(CACHED_ROWS, CACHED_BYTES / format.bytes()), Math.max(rows, 4));
        RowReader reader = RowReader.of(paths, files, shards, format.bytes());
        return new FileNgramTable(format, reader, new RowCache(kept, format.bytes()), rows);
    }

    @Override
    public long rows() {
        return rows;
    }

    @Override
    public int rowElements() {
        return format.elements();
    }

    @Override
    public void read(long[] wanted, int count, MemorySegment target) {
        long start = System.nanoTime();
        readAhead(wanted, count, target);
        waited(System.nanoTime() - start);
    }

    @Override
    public void waited(long nanos) {
        reader.counters().waited(nanos);
    }

    @Override
    public void readAhead(long[] wanted, int count, MemorySegment target) {
        NgramTable.check(this, wanted, count);
        if (count > RowReader.mostRows()) {
            throw new IllegalArgumentException(count + " rows at once; at most " + RowReader.mostRows());
        }
        boolean shared = RowParts.shared(target);
        long[][] missing = new long[RowParts.parts(count)][];
        RowParts.run(count, shared, (part, from, to) -> missing[part] = cached(wanted, from, to, target));
        long[] keys = join(missing);
        reader.counters().asked(count, count - keys.length);
        reader.read(keys, shared, (row, index, bytes, offset) -> {
            cache.put(row, bytes, offset);
            format.write(bytes, offset, new float[format.elements()], target, index);
        });
    }

    /** Writes the rows that are in the cache; gives the keys of the others. */
    private long[] cached(long[] wanted, int from, int to, MemorySegment target) {
        float[] values = new float[format.elements()];
        MemorySegment bytes = MemorySegment.ofArray(new byte[format.bytes()]);
        long[] missing = new long[to - from];
        int count = 0;
        for (int i = from; i < to; i++) {
            if (cache.get(wanted[i], bytes)) {
                format.write(bytes, 0, values, target, i);
            } else {
                missing[count++] = RowReader.key(wanted[i], i);
            }
        }
        return Arrays.copyOf(missing, count);
    }

    private static long[] join(long[][] parts) {
        int count = 0;
        for (long[] part : parts) {
            count += part.length;
        }
        long[] all = new long[count];
        int at = 0;
        for (long[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    /** Brings rows into the cache on a thread of its own, as many as half of the cache holds. */
    @Override
    public void expect(long[] wanted, int count) {
        long[] coming = Arrays.copyOf(wanted, Math.min(count, cache.capacity() / 2));
        try {
            ahead.execute(() -> fetch(coming));
        } catch (RejectedExecutionException closing) {
            // The rows will not be read any more.
        }
    }

    private void fetch(long[] coming) {
        for (int from = 0; from < coming.length && !closed; from += AHEAD_ROWS) {
            long[] keys = new long[Math.min(AHEAD_ROWS, coming.length - from)];
            int count = 0;
            for (int i = 0; i < keys.length; i++) {
                long row = coming[from + i];
                if (row >= 0 && row < rows && !cache.has(row)) {
                    keys[count++] = RowReader.key(row, 0);
                }
            }
            try {
                reader.read(
                        Arrays.copyOf(keys, count), true, (row, index, bytes, offset) -> cache.put(row, bytes, offset));
                reader.counters().ahead(count);
            } catch (UncheckedIOException failed) {
                // Whoever needs the rows reads them again and reports it.
                return;
            }
        }
    }

    /** Waits until everything that was expected is here or given up. */
    void awaitAhead() {
        try {
            ahead.submit(() -> {}).get();
        } catch (InterruptedException | java.util.concurrent.ExecutionException stop) {
            throw new IllegalStateException(stop);
        }
    }

    @Override
    public Map<String, Object> figures() {
        return reader.counters().figures();
    }

    @Override
    public void close() {
        closed = true;
        ahead.shutdownNow();
        try {
            if (!ahead.awaitTermination(10, TimeUnit.SECONDS)) {
                throw new IllegalStateException("reading ahead in the n-gram table does not end");
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        reader.close();
        cache.close();
    }
}
