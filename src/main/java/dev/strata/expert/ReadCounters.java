package dev.strata.expert;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Counts reads of expert files; any thread. */
public final class ReadCounters {
    /** Upper ends of the classes of request sizes, in KiB; one more class holds what is larger. */
    private static final int[] SIZES = {64, 256, 1024, 4096, 16_384};

    private final int wanted;
    private long requests;
    private long bytes;
    private long directBytes;
    private long usefulBytes;
    private long retries;
    private int running;
    private int deepest;
    private long changed;
    private long busyNanos;
    private long fullNanos;
    private long requestNanos;
    private long waitedNanos;
    private final long[] bySize = new long[SIZES.length + 1];

    /**
     * What was counted so far.
     *
     * @param nanos when that was, against other snapshots
     * @param requests to the file system
     * @param bytes read, alignment and gaps included
     * @param directBytes of them past the page cache
     * @param usefulBytes that somebody asked for
     * @param busyNanos time with at least one request on its way
     * @param fullNanos time with as many of them as the drive is to have
     * @param requestNanos time of all requests, one after the other
     * @param waitedNanos time that products waited for them, where the reader of the experts tells it
     * @param retries short or failed reads that were tried again
     */
    public record Snapshot(
            long nanos,
            long requests,
            long bytes,
            long directBytes,
            long usefulBytes,
            long busyNanos,
            long fullNanos,
            long requestNanos,
            long waitedNanos,
            long retries) {
        public static final Snapshot NONE = new Snapshot(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

        /** What came since an earlier snapshot. */
        public Snapshot since(Snapshot earlier) {
            return new Snapshot(
                    nanos - earlier.nanos,
                    requests - earlier.requests,
                    bytes - earlier.bytes,
                    directBytes - earlier.directBytes,
                    usefulBytes - earlier.usefulBytes,
                    busyNanos - earlier.busyNanos,
                    fullNanos - earlier.fullNanos,
                    requestNanos - earlier.requestNanos,
                    waitedNanos - earlier.waitedNanos,
                    retries - earlier.retries);
        }

        /** Both together. */
        public Snapshot plus(Snapshot other) {
            return since(NONE.since(other));
        }

        /** Bytes a second while requests were on their way. */
        public double rate() {
            return busyNanos == 0 ? 0 : bytes * 1e9 / busyNanos;
        }

        /** Requests on their way at the same time, on average. */
        public double depth() {
            return busyNanos == 0 ? 0 : requestNanos / (double) busyNanos;
        }

        /** Share of the time between two snapshots in which the drive had nothing to do. */
        public double idleShare() {
            return nanos == 0 ? 0 : 1 - busyNanos / (double) nanos;
        }

        /** Share of that time in which it had something, but less than it is to have. */
        public double shallowShare() {
            return nanos == 0 ? 0 : (busyNanos - fullNanos) / (double) nanos;
        }

        /** For the log. */
        public String text() {
            return String.format(
                    Locale.ROOT,
                    "%.2f GB read from files (%.2f GB past the page cache) in %d requests of %.2f MiB, %.3f of the bytes asked for,"
                            + " %.2f GB/s with %.1f requests at the same time",
                    bytes / 1e9,
                    directBytes / 1e9,
                    requests,
                    requests == 0 ? 0 : bytes / (double) requests / (1 << 20),
                    usefulBytes == 0 ? 0 : bytes / (double) usefulBytes,
                    rate() / 1e9,
                    depth());
        }
    }

    /** @param wanted requests that the drive is to have at the same time */
    ReadCounters(int wanted) {
        this.wanted = wanted;
    }

    /** A request begins; returns the time. */
    synchronized long begin() {
        long now = account();
        running++;
        deepest = Math.max(deepest, running);
        return now;
    }

    /** Adds the time since the last change to what the queue was then. */
    private long account() {
        long now = System.nanoTime();
        busyNanos += running > 0 ? now - changed : 0;
        fullNanos += running >= wanted ? now - changed : 0;
        changed = now;
        return now;
    }

    /** The request that began at {@code begun} has brought {@code count} bytes. */
    synchronized void end(long begun, long count, boolean direct) {
        requestNanos += account() - begun;
        running--;
        requests++;
        bytes += count;
        if (direct) {
            directBytes += count;
        }
        int size = 0;
        while (size < SIZES.length && count > (long) SIZES[size] << 10) {
            size++;
        }
        bySize[size]++;
    }

    synchronized void useful(long count) {
        usefulBytes += count;
    }

    /** Products could not go on before reads had ended. */
    synchronized void waited(long nanos) {
        waitedNanos += nanos;
    }

    synchronized void retried() {
        retries++;
    }

    /** What was counted so far. */
    public synchronized Snapshot snapshot() {
        long now = account();
        return new Snapshot(
                now,
                requests,
                bytes,
                directBytes,
                usefulBytes,
                busyNanos,
                fullNanos,
                requestNanos,
                waitedNanos,
                retries);
    }

    /** Requests to the file system. */
    public synchronized long requests() {
        return requests;
    }

    /** Bytes read, alignment and gaps included. */
    public synchronized long bytes() {
        return bytes;
    }

    /** Bytes of them read past the page cache. */
    public synchronized long directBytes() {
        return directBytes;
    }

    /** Bytes that somebody asked for. */
    public synchronized long usefulBytes() {
        return usefulBytes;
    }

    /** Short or failed reads that were tried again. */
    public synchronized long retries() {
        return retries;
    }

    /** Most requests that ran at the same time. */
    public synchronized int queueDepth() {
        return deepest;
    }

    /** Everything by name, for the status page. */
    public synchronized Map<String, Object> figures() {
        Snapshot now = snapshot();
        Map<String, Object> sizes = new LinkedHashMap<>();
        for (int i = 0; i < SIZES.length; i++) {
            sizes.put("up_to_" + SIZES[i] + "_kib", bySize[i]);
        }
        sizes.put("larger", bySize[SIZES.length]);
        Map<String, Object> figures = new LinkedHashMap<>();
        figures.put("file_requests", requests);
        figures.put("file_requests_by_size", sizes);
        figures.put("file_bytes_read", bytes);
        figures.put("file_bytes_unbuffered", directBytes);
        figures.put("file_bytes_buffered", bytes - directBytes);
        figures.put("file_bytes_useful", usefulBytes);
        figures.put("file_queue_depth", deepest);
        figures.put("file_queue_depth_mean", now.depth());
        figures.put("file_bytes_per_second", now.rate());
        figures.put("file_busy_seconds", now.busyNanos() / 1e9);
        figures.put("file_full_queue_seconds", now.fullNanos() / 1e9);
        figures.put("file_wait_seconds", waitedNanos / 1e9);
        figures.put("file_retries", retries);
        return figures;
    }
}
