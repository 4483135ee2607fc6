package dev.strata.expert;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Counts reads of expert files; any thread. */
public final class ReadCounters {
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong requestedBytes = new AtomicLong();
    private final AtomicLong directBytes = new AtomicLong();
    private final AtomicLong usefulBytes = new AtomicLong();
    private final AtomicLong retries = new AtomicLong();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger deepest = new AtomicInteger();

    void begin() {
        int now = running.incrementAndGet();
        deepest.accumulateAndGet(now, Math::max);
    }

    void end(long bytes, boolean direct) {
        running.decrementAndGet();
        requests.incrementAndGet();
        requestedBytes.addAndGet(bytes);
        if (direct) {
            directBytes.addAndGet(bytes);
        }
    }

    void useful(long bytes) {
        usefulBytes.addAndGet(bytes);
    }

    void retried() {
        retries.incrementAndGet();
    }

    /** Requests to the file system. */
    public long requests() {
        return requests.get();
    }

    /** Bytes read, alignment and gaps included. */
    public long bytes() {
        return requestedBytes.get();
    }

    /** Bytes of them read past the page cache. */
    public long directBytes() {
        return directBytes.get();
    }

    /** Bytes that somebody asked for. */
    public long usefulBytes() {
        return usefulBytes.get();
    }

    /** Short or failed reads that were tried again. */
    public long retries() {
        return retries.get();
    }

    /** Most requests that ran at the same time. */
    public int queueDepth() {
        return deepest.get();
    }
}
